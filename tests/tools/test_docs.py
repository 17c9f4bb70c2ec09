# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests five parts of the documentation site: the parsers of source files, the code for pictures, the
conversion of pages, the generated pages, and the checks of finished pages. No test runs Sphinx,
Graphviz or a browser."""

import tempfile
from pathlib import Path
from types import SimpleNamespace

from avocado import Test

from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import ROOT
from vgpu_tools.docs import (
    bits,
    csource,
    device,
    driver,
    kerneldoc,
    locks_picture,
    pictures,
    qapi,
    reference,
    rooms_pictures,
    stage,
    tables,
    tools,
)
from vgpu_tools.docs.site import look
from vgpu_tools.testing import rooms
from vgpu_tools.testing.rooms_file import Rooms

SCHEMA = """
##
# = Heading
##

##
# @Kind:
#
# A kind.
#
# @one: the first, with @two
#
# @two: the second,
#     on two lines
#
# Since: 10.0
##
{ 'enum': 'Kind', 'data': [ 'one', 'two' ] }

##
# @Base:
#
# @x: of the base
##
{ 'struct': 'Base', 'data': { '*x': 'uint8' } }

##
# @Upper:
#
# @y: of the upper one
##
{ 'struct': 'Upper', 'base': 'Base',
  'data': { 'y': { 'type': [ 'Kind' ], 'features': [ 'deprecated' ] } } }

##
# @call:
#
# Do it.
#
# @z: an argument
#
# Errors:
#     - If it fails
#
# .. qmp-example::
#
#     -> { "execute": "call" }
##
{ 'command': 'call', 'data': { 'z': 'int' }, 'boxed': false }
"""


class Parsers(Test):
    """The parsers of source files. The tests parse short texts, such as a QAPI schema or C code."""

    def test_empty(self) -> None:
        """Catches: a table without rows is accepted; a row whose number of cells differs from that
        of the head is accepted."""
        with self.assertRaisesRegex(Failure, "'of nothing' is empty"):
            tables.table("of nothing", ("a",), [])
        with self.assertRaisesRegex(Failure, "2 cells"):
            tables.table("t", ("a",), [["x", "y"]])
        self.assertEqual(tables.table("t", ("a", "b"), [["x|y", " 1\n 2"]]), "| a | b |\n|---|---|\n| x\\|y | 1 2 |\n")

    def test_qapi(self) -> None:
        """Catches: a comment's text goes to the wrong member; a base's members are left out; a heading or an example is
        read as a definition; an unknown definition is accepted."""
        schema = qapi.Schema(SCHEMA)
        self.assertEqual(list(schema.by_name), ["Kind", "Base", "Upper", "call"])
        kind, call = schema.by_name["Kind"], schema.by_name["call"]
        self.assertEqual(kind.text.description, "A kind.")
        self.assertEqual(kind.text.members, {"one": "the first, with @two", "two": "the second, on two lines"})
        self.assertEqual(call.text.members, {"z": "an argument"})
        self.assertEqual(call.text.sections, {"Errors": "- If it fails"})
        names = [(member.name, member.optional, text) for member, text in schema.inherited("Upper")]
        self.assertEqual(names, [("x", True, "of the base"), ("y", False, "of the upper one")])
        self.assertEqual(schema.by_name["Upper"].members()[0].type, "list of Kind")
        with self.assertRaises(Failure):
            qapi.Schema("##\n# @A:\n##\n{ 'struct': 'B', 'data': {} }")

    def test_c(self) -> None:
        """Catches: an argument ends at a comma or parenthesis in a string or in inner
        parentheses; a macro's value includes a comment or a suffix; number() accepts a call, such
        as f(1)."""
        self.assertEqual(csource.arguments('f(a, g(b, c), "d, )" "e", { 1, 2 })', 1), [
            "a", "g(b, c)", '"d, )" "e"', "{ 1, 2 }",
        ])  # fmt: skip
        known = csource.macros(
            "#define A\t(1ull << 4) /* x */\n#define B 0x0fu\n#define C (A | \\\n B)\n#define F(x) x\n"
        )
        self.assertEqual({name: csource.number(name, known) for name in known}, {"A": 16, "B": 15, "C": 31})
        with self.assertRaises(Failure):
            csource.number("f(1)", {})
        with self.assertRaises(Failure):
            csource.arguments("f(a", 1)
        text = "/* Not this. */\nx;\n/*\n * This\n * one.\n */\nf();"
        self.assertEqual(csource.before(text, text.index("f();")), "This one.")

    def test_properties(self) -> None:
        """Catches: a property in an #ifdef is not marked with the macro of the #ifdef; properties_page() accepts a
        property that docs/hardware.md does not describe; properties_page() omits the value of a default that is a
        macro."""
        code = (
            '#define NS 5\nDEFINE_PROP_SIZE("a", S, a, NS),\n#ifdef DELAYS\nDEFINE_PROP_STRING("d", S, d),\n#endif\n'
            'DEFINE_PROP_LINK("l", S, l, T, U *),'
        )
        found = [(one.name, one.type, one.default, one.only) for one in device.properties(code)]
        self.assertEqual(
            found, [("a", "size", "NS", ""), ("d", "string", "", "DELAYS"), ("l", "link", "", "")]
        )  # fmt: skip
        contract = (
            "| property | meaning | range, default |\n|---|---|---|\n| `a` | bytes, see [x](#x) | 1 |\n| `l` | b | |\n"
        )
        hive = 'object_class_property_add(klass, "h", "uint64", f);'
        page = device.properties_page(code, hive, "", contract)
        self.assertIn("| `a` | size | `NS` (5) | bytes, see [x](../hardware.md#x) | 1 |", page)
        with self.assertRaisesRegex(Failure, "property l"):
            device.properties_page(code, hive, "", contract.replace("`l`", "`m`"))

    def test_trace_events(self) -> None:
        """Catches: an event with PRIx64 or a pointer in its arguments is left out or misread."""
        text = '# ih/x.c\nvgpu_a(const char *id, uint64_t va) "%s va=0x%"PRIx64" end"\n'
        self.assertEqual(
            list(device.events(text)), [("ih/x.c", "vgpu_a", ["char *id", "uint64_t va"], "%s va=0x%x end")]
        )

    def test_parameters(self) -> None:
        """Catches: a parameter without a text is accepted; a parameter of amdgpu.ko is listed as one of vgpu_kfd.ko."""
        code = 'static unsigned int a = 3;\nmodule_param(a, uint, 0644);\nMODULE_PARM_DESC(a,\n\t\t "x, " "y (1)");\n'
        found = list(driver.parameters({"guest-driver/hw/x.c": code, "guest-driver/amdgpu/y.c": code}))
        self.assertEqual([(one.module, one.default, one.text) for one in found], [
            ("vgpu_kfd.ko", "3", "x, y (1)"), ("amdgpu.ko", "3", "x, y (1)"),
        ])  # fmt: skip
        with self.assertRaisesRegex(Failure, "parameter a has no"):
            list(driver.parameters({"x.c": "module_param(a, uint, 0644);\n"}))

    def test_tracepoints(self) -> None:
        """Catches: an event that is defined from an event class has no format; an event gets the
        comment of another event."""
        text = (
            "#define TRACE_SYSTEM s\n/* Of the class. */\nDECLARE_EVENT_CLASS(c,\n\tTP_ARGS(a),\n"
            '\tTP_printk("a=%u", x)\n);\n/* When. */\nDEFINE_EVENT(c, e,\n\tTP_PROTO(int a),\n\tTP_ARGS(a)\n);\n'
        )
        self.assertEqual(list(driver.tracepoints(text)), [driver.Tracepoint("s", "e", "When.", "a=%u", "a")])

    def test_kernel_doc(self) -> None:
        """Catches: the name or the kind of a kernel-doc comment is misread; a DOC comment counts as the
        comment of a function; inline functions and functions in comments count as declarations."""
        code = "/**\n * f() - do\n */\nint f(void)\n{\n}\n/**\n * struct s - data\n */\n/**\n * DOC: no\n */\n"
        self.assertEqual(kerneldoc.documented(code), {"f": "", "s": "struct"})
        header = (
            "/* int no(void); */\nint f(void);\nvoid\t*g(int a,\n\t\tint b);\n"
            "static inline int h(int a)\n{\n\treturn k(a);\n}\n"
        )
        self.assertEqual(kerneldoc.declared(header), ["f", "g"])


class Drawings(Test):
    """The functions that make pictures from text: bit fields from TOML, locks from a table, folders from rooms.txt."""

    def test_bits(self) -> None:
        """Catches: a field is drawn at a wrong bit; overlapping fields, a mask with a hole or an unknown macro is
        accepted; bits without a field are left out."""
        header = "#define A 0x0fu\n#define B (3u << 4)\n#define HOLE 0x5u\n"
        source = 'header = "h"\n[[words]]\nlabel = "w"\nbits = 32\n[words.fields]\nA = "low"\n'
        word = bits.words(f'{source}"31:30" = "high"\nB = "b"\n', "p", lambda _: header)[0]
        self.assertEqual([(one["bits"], one.get("name", "")) for one in word["fields"]], [
            (4, "low"), (2, "b"), (24, ""), (2, "high"),
        ])  # fmt: skip
        for field, words in (("3:2", "taken"), ("33:32", "beyond"), ("HOLE", "no mask"), ("C", "no macro C")):
            with self.assertRaisesRegex(Failure, f"p: .*{words}"):
                bits.words(f'{source}"{field}" = "x"\n', "p", lambda _: header)

    def test_locks(self) -> None:
        """Catches: a change of the table of locks does not change the picture; a table with unknown
        columns is drawn."""
        page = (ROOT / locks_picture.SOURCE).read_text()
        found = locks_picture.locks(page)
        names = [name for one in found for name in one.names]
        self.assertIn(("kfd_process.mutex", "kfd_process.queue_lock"), list(zip(names, names[13:], strict=False)))
        self.assertEqual({one.waited for one in found}, {"yes", "no", "other"})
        self.assertEqual({one.kind for one in found if "kfd_dbg_lock" in one.names}, {"spin"})
        row = "| `kfd_process.mutex` | process |"
        self.assertIn("another_lock", locks_picture.render(page.replace(row, f"| `another_lock` | x | | no |\n{row}")))
        with self.assertRaises(Failure):
            locks_picture.locks(page.replace("| lock | folder |", "| lock | room |"))

    def test_rooms(self) -> None:
        """Catches: the table of folders ignores rooms.txt; the graph of folders lacks an arrow, or keeps an arrow from
        A to B although a longer path leads from A to B; matrix() accepts an unknown section."""
        self.assertEqual(
            rooms_pictures.reduced({"a": set(), "b": {"a"}, "c": {"a", "b"}, "d": {"a"}}),
            {"a": set(), "b": {"a"}, "c": {"b"}, "d": {"a"}},
        )
        files = ["d/low/x.c", "d/mid/x.c", "d/top/x.c"]
        few, more = (Rooms(f"[d]\nlow:\nmid: low\ntop: {used}\n", files) for used in ("mid", "mid low"))
        self.assertNotEqual(rooms_pictures.matrix(few, "d"), rooms_pictures.matrix(more, "d"))
        self.assertIn('"top" -> "mid"', rooms_pictures.layers(more, "d", {}))
        self.assertNotIn('"top" -> "low"', rooms_pictures.layers(more, "d", {}))
        with self.assertRaises(Failure):
            rooms_pictures.matrix(few, "e")


class Pages(Test):
    """The class Stage, which converts pages for the site."""

    def staged(self, **pages: str) -> stage.Stage:
        """Return a Stage for a checkout that has these pages in docs/, and README.md and
        rooms.txt."""
        self.folder = Path(self.workdir)
        (self.folder / "docs").mkdir(exist_ok=True)
        texts = {f"docs/{name}.md": text for name, text in pages.items()} | {"README.md": "# R\n", "rooms.txt": "x"}
        for name, text in texts.items():
            (self.folder / name).write_text(text)
        return stage.Stage(self.folder, list(texts), {"docs/made/m.md": "[a](../a.md#x)\n"})

    def test_links(self) -> None:
        """Catches: a link to another page, an anchor or a file is broken in the site; a link in
        a code block is changed; a link or a picture whose target does not exist is accepted."""
        a = '# A\n\n## B <a id="x"></a>\n\n[r](../README.md) [f](../rooms.txt) [x](#x) [b](b.md#head) [w](https://w)\n'
        pages = self.staged(a=f"{a}\n```\n[n](no.md)\n```\n", b="[x](a.md#x)\n")
        self.assertEqual(
            pages.converted("docs/a.md"),
            "# A\n(a-x)=\n## B\n\n[r](readme.md) [f](files/rooms.txt) [x](#a-x) [b](b.md#head) [w](https://w)\n"
            "\n```\n[n](no.md)\n```\n",
        )
        self.assertEqual(pages.converted("docs/b.md"), "[x](#a-x)\n")
        self.assertEqual(pages.converted("docs/made/m.md"), "[a](#a-x)\n")
        with self.assertRaisesRegex(Failure, "docs/c.md:1: a link to no.md"):
            self.staged(c="[n](no.md)\n").converted("docs/c.md")
        with self.assertRaisesRegex(Failure, "docs/c.md:1: a link to runs/no.svg"):
            self.staged(c="![n](runs/no.svg)\n").converted("docs/c.md")

    def test_patterns(self) -> None:
        """Catches: a pattern that matches no page stays in a table of contents, and Sphinx warns; a pattern that
        matches pages is removed."""
        text = "```{toctree}\n:glob:\n\nmade/*\nnone/*\n```\n"
        self.assertEqual(self.staged(a=text).converted("docs/a.md"), text.replace("none/*\n", ""))

    def test_unused(self) -> None:
        """Catches: a picture that no page shows is accepted."""
        with self.assertRaisesRegex(Failure, "picture b"), tempfile.TemporaryDirectory() as folder:
            pictures.write({"a": "<svg/>", "b": "<svg/>"}, {"p": "```{picture} a\n```\n"}, Path(folder))


class Here(Test):
    """The pages and pictures that are generated from this checkout."""

    def setUp(self) -> None:
        self.files = rooms.files_of(ROOT)
        self.rooms = Rooms((ROOT / "rooms.txt").read_text(), self.files)

    def test_reference(self) -> None:
        """Catches: a generated page cannot be made from this checkout; a page lacks an entry that the code has."""
        pages = reference.generate(reference.Sources(ROOT, self.files), self.rooms)
        for page, words in (
            ("qmp", ("query-vgpu", "VgpuStallReason")),
            ("injection", ("surprise-removal", "`bytes-per-second`")),
            ("properties", ("visible-vram", "hive-id", "x-delay-point")),
            ("trace-events", ("vgpu_fault", "vgpu_replay")),
            ("parameters", ("lockup_timeout", "emu_mode")),
            ("counters", ("svm_evictions", "tlb-misses")),
            ("tracepoints", ("vgpu_svm:svm_fault", "vgpu:vgpu_bo_evict")),
            ("options", ("--device-delays", "check-recovery")),
            ("targets", ("make test-full", "SUITE=NAME")),
        ):
            for word in words:
                self.assertIn(word, pages[f"docs/reference/{page}.md"], page)
        self.assertIn(".. kernel-doc:: guest-driver/mm/vgpu_bo.h", pages["docs/faces/mm.rst"])
        self.assertIn("vgpu_bo_create", pages["docs/faces/mm.rst"])

    def test_pictures(self) -> None:
        """Catches: a page shows a picture that does not exist; a picture is on no page; the source of a picture (.toml)
        is malformed; the site has fewer than 16 pictures."""
        sources = pictures.sources(ROOT)
        made = {"rooms-driver", "rooms-driver-table", "rooms-device", "rooms-tools", "locks"}
        known = {file.stem for file in sources} | made
        shown = {
            name
            for file in self.files
            if file.endswith(".md")
            for name in pictures.USE.findall((ROOT / file).read_text())
        }
        self.assertEqual(shown, known)
        self.assertGreater(len(known), 15)
        for file in sources:
            if file.suffix == ".toml":
                bits.words(file.read_text(), file.name, lambda path: (ROOT / path).read_text())

    def test_options(self) -> None:
        """Catches: options_page() raises no Failure although the parser and USAGE have different options."""
        texts = [
            (ROOT / file).read_text() for file in (tools.MAIN, tools.COMMANDS, tools.SHARED, tools.GUEST, tools.BENCH)
        ]
        texts[3] = texts[3].replace('"--hive"', '"--hives"')
        with self.assertRaisesRegex(Failure, "--hive, --hives"):
            tools.options_page(*texts)


class Look(Test):
    """The checks of a page that the browser has loaded: its links and its requests."""

    def test_links(self) -> None:
        """Catches: broken() does not report a link to a missing file, or to a missing anchor in a
        file; broken() reports a link to another host."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "a.html"
            file.touch()
            pages = {file: look.Seen({"here"})}
            links = [f"{file.as_uri()}#here", f"{file.as_uri()}#gone", (file.parent / "b.html").as_uri(), "https://x/y"]
            self.assertEqual(len(list(look.broken(links, pages))), 2)

    def test_requests(self) -> None:
        """Catches: a page that loads a file from another host is accepted; the message about a
        missing file does not name the file."""
        requests = [
            SimpleNamespace(url="https://x/y.js", failure=None),
            SimpleNamespace(url="file:///z.png", failure="gone"),
            SimpleNamespace(url="file:///a.png", failure=None),
        ]
        self.assertEqual(list(look.wrong_requests(requests)), [
            "loads https://x/y.js", "cannot load file:///z.png: gone",
        ])  # fmt: skip

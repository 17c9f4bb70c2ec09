# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a read-only EROFS image without compression. Root owns all files.

Layout: superblock (block 0), inodes (32 bytes each), each inode's data in whole blocks.
"""

import stat
import struct
from dataclasses import dataclass, field
from pathlib import Path

BLOCK = 4096
SUPER_OFFSET = 1024
MAGIC = 0xE0F5E1E2
SUPER = struct.Struct("<IIIBBHQQIIII16s16sI44x")
INODE = struct.Struct("<HHHHIIIIHHI")
ENTRY = struct.Struct("<QHBB")
FIRST_NID = BLOCK // INODE.size  # the root folder's inode, at the start of block 1
FILE, FOLDER, LINK = 1, 2, 7  # types in directory entries
TYPES = {stat.S_IFREG: FILE, stat.S_IFDIR: FOLDER, stat.S_IFLNK: LINK}


@dataclass
class Node:
    """A file, folder or symbolic link of the image."""

    mode: int
    content: bytes = b""
    parent: "Node | None" = None
    entries: dict[bytes, "Node"] = field(default_factory=dict)
    nid: int = 0  # number of the inode: its offset in the image, in units of 32 bytes


class Image:
    """An EROFS image in memory. The caller must add a folder before the contents of the folder."""

    def __init__(self) -> None:
        self.root = Node(stat.S_IFDIR | 0o755)
        self.root.parent = self.root
        self.nodes = [self.root]

    def folder(self, name: str) -> None:
        """Add a folder."""
        self._add(name, Node(stat.S_IFDIR | 0o755))

    def file(self, name: str, content: bytes, mode: int = 0o644) -> None:
        """Add a regular file."""
        self._add(name, Node(stat.S_IFREG | mode, content))

    def link(self, name: str, target: str) -> None:
        """Add a symbolic link."""
        self._add(name, Node(stat.S_IFLNK | 0o777, target.encode()))

    def _add(self, name: str, node: Node) -> None:
        *folders, last = name.encode().split(b"/")
        node.parent = self.root
        for folder in folders:
            node.parent = node.parent.entries[folder]
        node.parent.entries[last] = node
        self.nodes.append(node)

    def write(self, path: Path, size: int) -> None:
        """Write the image into a file of `size` bytes. Raises ValueError if the image is larger."""
        for index, node in enumerate(self.nodes):
            node.nid = FIRST_NID + index
        for node in self.nodes:
            if stat.S_ISDIR(node.mode):
                node.content = _entries(node)
        start = 1 + _blocks(len(self.nodes) * INODE.size)
        blocks = start + sum(_blocks(len(node.content)) for node in self.nodes)
        if blocks * BLOCK > size:
            raise ValueError(f"{path}: {blocks * BLOCK} bytes do not fit into {size}")
        with path.open("wb") as output:
            output.seek(SUPER_OFFSET)
            output.write(
                SUPER.pack(
                    MAGIC, 0, 0, 12, 0, self.root.nid, len(self.nodes), 0, 0, blocks, 0, 0, bytes(16), bytes(16), 0
                )
            )
            at = start
            for index, node in enumerate(self.nodes):
                links = 2 if stat.S_ISDIR(node.mode) else 1
                output.seek(BLOCK + index * INODE.size)
                output.write(INODE.pack(0, 0, node.mode, links, len(node.content), 0, at, index + 1, 0, 0, 0))
                output.seek(at * BLOCK)
                output.write(node.content)
                at += _blocks(len(node.content))
            output.truncate(size)


def _blocks(size: int) -> int:
    return -(-size // BLOCK)


def _entries(node: Node) -> bytes:
    """Return the data blocks of a folder. Each block holds directory entries, sorted by name,
    followed by the entries' names."""
    assert node.parent
    named = sorted([(b".", node), (b"..", node.parent), *node.entries.items()])
    blocks: list[list[tuple[bytes, Node]]] = [[]]
    used = 0
    for name, other in named:
        need = ENTRY.size + len(name)
        if used + need > BLOCK:
            blocks.append([])
            used = 0
        blocks[-1].append((name, other))
        used += need
    data = b""
    for block in blocks:
        offset = len(block) * ENTRY.size
        head, names = b"", b""
        for name, other in block:
            head += ENTRY.pack(other.nid, offset + len(names), TYPES[stat.S_IFMT(other.mode)], 0)
            names += name
        data += (head + names).ljust(BLOCK, b"\0")
    return data

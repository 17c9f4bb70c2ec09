# SPDX-License-Identifier: GPL-2.0-or-later
"""Installs missing Debian packages on the host, and downloads packages of the pinned release.

Downloads use a private apt configuration (configure()), so that they neither change the machine's
package state nor depend on it.
"""

import functools
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from vgpu_tools.base import environment, progress
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import CACHE, CONFIGS
from vgpu_tools.base.process import output_of
from vgpu_tools.build.steps import Job, Step, cache_lock
from vgpu_tools.build.versions import pins

APT = CACHE / "apt"
CONF = APT / "apt.conf"
LISTS_AGE = 24 * 3600.0  # seconds until the private package lists are updated again
MIRROR_HINT = "set DEBIAN_MIRROR= to a Debian mirror, or QEMU_SRC= and KERNEL_SRC= to source folders"


# The next functions install packages on the host. They use the host's apt configuration.


@functools.cache
def missing(listed: str = "packages") -> tuple[str, ...]:
    """Return the packages in configs/LISTED.txt that this machine lacks."""
    lines = (CONFIGS / f"{listed}.txt").read_text().splitlines()
    wanted = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    result = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${Status}\n", *wanted], capture_output=True, text=True, check=False
    )
    installed = {line.split()[0] for line in result.stdout.splitlines() if line.endswith(" installed")}
    # An installed program with the package's name also counts: Debian's npm cannot be installed
    # beside Node.js from another archive.
    return tuple(name for name in wanted if name not in installed and not shutil.which(name))


def _install(job: Job, listed: str) -> None:
    names = missing(listed)
    prefix: list[str] = []
    if os.geteuid() != 0:
        if not shutil.which("sudo"):
            raise Failure(f"missing Debian packages, which only root or sudo can install: {' '.join(names)}")
        prefix = ["sudo"]
    prefix += ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"]
    job.run([*prefix, "update"])
    job.run([*prefix, "install", "-y", "--no-install-recommends", *names])
    missing.cache_clear()
    if left := missing(listed):
        raise job.fail(f"still missing: {' '.join(left)}")


def host_packages(listed: str = "packages") -> Step:
    """Return the step that installs the missing packages of a list in configs/."""
    return Step(listed, "host packages", lambda job: _install(job, listed), check=lambda: not missing(listed))


# Downloads, with a private apt configuration


def _mirrors() -> tuple[str, str]:
    """Return the URLs of a Debian mirror and of a mirror of Debian's security updates. Each URL is
    from its environment variable, else from this machine's apt configuration. Raises Failure if
    there is no Debian mirror."""
    given = environment.read()
    main, security = given.mirror, given.security_mirror
    fields = "$(CREATED_BY)|$(RELEASE)|$(REPO_URI)"
    for line in output_of(["apt-get", "indextargets", "--format", fields]).splitlines():
        kind, release, uri = line.split("|")
        last = uri.rstrip("/").rsplit("/", 1)[-1]
        if kind != "Packages":
            continue
        if release.endswith("-security") or last == "debian-security":
            security = security or uri
        elif last == "debian":
            main = main or uri
    if not main:
        raise Failure(f"this machine's apt configuration names no Debian mirror: {MIRROR_HINT}")
    # deb.debian.org has the security updates beside debian/, in debian-security/. Assume the same of other mirrors.
    return main, security or main.rstrip("/") + "-security"


def configure(job: Job) -> None:
    """Write the private apt configuration. Update the package lists if they are older than
    LISTS_AGE or if the sources have changed: mirrors, suite or keyrings."""
    suite = pins()["debian"]["suite"]
    main, security = _mirrors()
    keys = sorted(str(path) for path in Path("/usr/share/keyrings").glob("debian-archive-*.gpg"))
    options = f" [signed-by={','.join(keys)}]" if keys else ""
    sources = "".join(
        f"{kind}{options} {uri} {name} main\n"
        for uri, name in ((main, suite), (security, f"{suite}-security"))
        for kind in ("deb", "deb-src")
    )
    listing, stamp = APT / "sources.list", APT / "lists.stamp"
    # All other settings are the machine's. The list of installed packages is private and empty: otherwise apt would
    # choose an installed package that is newer than the archive's, and then could not download it.
    installed = APT / "status"
    settings = (
        f'Dir::Etc::sourcelist "{listing}";\n'
        'Dir::Etc::sourceparts "-";\n'
        f'Dir::State::lists "{APT}/lists";\n'
        f'Dir::State::status "{installed}";\n'
        f'Dir::Cache "{APT}/cache";\n'
        'APT::Architectures {"amd64";};\n' + ('APT::Sandbox::User "root";\n' if os.geteuid() == 0 else "")
    )
    with cache_lock("apt"):
        for folder in ("lists/partial", "cache/archives/partial"):
            (APT / folder).mkdir(parents=True, exist_ok=True)
        installed.touch()
        if not CONF.exists() or CONF.read_text() != settings:
            CONF.write_text(settings)
        known = listing.read_text() if listing.exists() else ""
        if known == sources and stamp.exists() and time.time() - stamp.stat().st_mtime < LISTS_AGE:
            return
        listing.write_text(sources)
        job.run(["apt-get", "-q", "-c", CONF, "update"])
        stamp.touch()


def _newest(versions: Sequence[str]) -> str:
    best = versions[0]
    for version in versions[1:]:
        if subprocess.run(["dpkg", "--compare-versions", version, "gt", best], check=False).returncode == 0:
            best = version
    return best


def choose(package: str, pinned: str, series: str, versions: Sequence[str]) -> str:
    """Return the pinned version if the archive has it. Otherwise return the newest version of the series, and print a
    message."""
    if pinned in versions:
        return pinned
    same = [version for version in versions if version.split(":", 1)[-1].startswith(f"{series}.")]
    if not same:
        raise Failure(f"the archive has no {package} {series}: {MIRROR_HINT}")
    version = _newest(same)
    progress.say(f"    {package} {pinned} is not in the archive any more; taking {version}")
    return version


def source_versions(package: str) -> list[str]:
    """Return the versions of a source package that the archive has according to the package lists.
    configure() updates these lists."""
    text = output_of(["apt-cache", "-c", CONF, "showsrc", "--only-source", package])
    return [line.split()[1] for line in text.splitlines() if line.startswith("Version: ")]


def binary_versions(package: str) -> list[str]:
    """Return the versions of a binary package that the archive has according to the package lists.
    configure() updates these lists."""
    text = output_of(["apt-cache", "-c", CONF, "madison", package])
    rows = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
    return [row[1] for row in rows if len(row) == 3 and row[2].endswith(" Packages")]


def download_source(job: Job, package: str, version: str, folder: Path) -> None:
    """Download the .dsc file and the tarballs of a source package into `folder`, which must exist."""
    job.run(
        ["apt-get", "-q", "-c", CONF, "source", "--download-only", "--only-source", f"{package}={version}"], cwd=folder
    )


def download_original(job: Job, package: str, version: str, folder: Path) -> None:
    """Fetch only the original tarball of a source package. The tarball with Debian's changes is
    left out, because some mirrors lack it for a few packages."""
    job.run(["apt-get", "-q", "-c", CONF, "source", "--tar-only", "--only-source", f"{package}={version}"], cwd=folder)


def unpack_binary(job: Job, package: str, folder: Path, version: str = "") -> None:
    """Fetch a binary package and unpack it below a folder. The package is not installed."""
    downloads = folder.with_name(folder.name + ".download")
    shutil.rmtree(downloads, ignore_errors=True)
    downloads.mkdir(parents=True)
    job.run(["apt-get", "-q", "-c", CONF, "download", f"{package}={version}" if version else package], cwd=downloads)
    for archive in downloads.glob("*.deb"):
        job.run(["dpkg-deb", "-x", archive, folder])
    shutil.rmtree(downloads)

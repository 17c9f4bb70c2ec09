# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests the private apt configuration for downloads."""

import contextlib
import subprocess
import tempfile
from pathlib import Path
from unittest import mock

from avocado import Test

from vgpu_tools.build import apt

MIRRORS = ("http://mirror.invalid/debian", "http://mirror.invalid/debian-security")


class Configuration(Test):
    """Tests configure() in a temporary folder, without access to a mirror."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.conf = self.folder / "apt.conf"
        self.job = mock.Mock()
        for name, value in (
            ("APT", self.folder), ("CONF", self.conf), ("_mirrors", lambda: MIRRORS),
            ("cache_lock", lambda name: contextlib.nullcontext()),
        ):  # fmt: skip
            patch = mock.patch.object(apt, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def policy(self, package: str) -> str:
        """Return what apt knows of a package in the private configuration."""
        command = ["apt-cache", "-c", str(self.conf), "policy", package]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def test_installed(self) -> None:
        """Catches: packages that the machine has installed count as installed in the private configuration. (apt then
        prefers an installed package that is newer than the archive's, and cannot download it.)"""
        apt.configure(self.job)
        # The package lists are empty, since nothing has updated them. The machine has dpkg.
        self.assertEqual(self.policy("dpkg"), "")

    def test_update(self) -> None:
        """Catches: the lists are updated again although they are new, or not updated after a change of the mirrors; a
        configuration of an older version is kept."""
        apt.configure(self.job)
        settings = self.conf.read_text()
        self.conf.write_text("")
        apt.configure(self.job)
        self.assertEqual(self.conf.read_text(), settings)
        self.job.run.assert_called_once_with(["apt-get", "-q", "-c", self.conf, "update"])
        with mock.patch.object(apt, "_mirrors", lambda: ("http://other.invalid/debian", MIRRORS[1])):
            apt.configure(self.job)
        self.assertEqual(self.job.run.call_count, 2)

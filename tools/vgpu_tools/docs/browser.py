# SPDX-License-Identifier: GPL-2.0-or-later
"""A headless Chromium with one page, controlled by the DevTools protocol over a pipe (messages are JSON, each ends with
a zero byte)."""

import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from vgpu_tools.base.errors import Failure
from vgpu_tools.base.process import end_process

SECONDS = 120.0  # limit of a reply, and of the load of a page
PROGRAM = "chromium"


class Page:
    """The page of a browser. Raises Failure if the browser does not reply in time, or replies with an error."""

    def __init__(self, reads: int, writes: int) -> None:
        """`reads` and `writes` are the descriptors of the browser's pipe."""
        self._reads, self._writes = reads, writes
        self._buffer = b""
        self._number = 0
        self._session = ""
        self.events: list[dict[str, Any]] = []  # events that the browser has sent since the last visit() began
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime"):
            self.call(f"{domain}.enable")

    def _message(self, end: float) -> dict[str, Any]:
        """Return the next message. `end` is the limit, on time.monotonic()."""
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._reads], [], [], max(0.0, end - time.monotonic()))
            more = os.read(self._reads, 1 << 20) if ready else b""
            if not more:
                raise Failure(f"{PROGRAM} {'has ended' if ready else 'does not reply'}")
            self._buffer += more
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Call a method of the protocol, and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._writes, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + SECONDS
        while (reply := self._message(end)).get("id") != self._number:
            continue
        if "error" in reply:
            raise Failure(f"{PROGRAM}: {method}: {reply['error']['message']}")
        result: dict[str, Any] = reply["result"]
        return result

    def look(self, width: int, dark: bool) -> None:
        """Set the width of the window in pixels, and the colour scheme that pages see."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def visit(self, url: str) -> None:
        """Load a page, and return when it is loaded. `events` then has only the events of this load."""
        self.events.clear()
        loader = self.call("Page.navigate", url=url)["loaderId"]
        end = time.monotonic() + SECONDS
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._message(end)
        named = {one["params"].get("requestId", "") for one in self.events if one["params"].get("loaderId") == loader}
        self.events = [one for one in self.events if one["params"].get("requestId", "") in {"", *named}]

    def run(self, script: str) -> Any:
        """Return the value of a JavaScript expression, or of the promise that the expression returns."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise Failure(f"{PROGRAM}: {result['exceptionDetails']['exception'].get('description', 'exception')}")
        return result["result"].get("value")


@contextlib.contextmanager
def page() -> Iterator[Page]:
    """Start a browser, and end it with the block."""
    if not shutil.which(PROGRAM):
        raise Failure(f"no program '{PROGRAM}'")
    to_browser, from_browser = os.pipe(), os.pipe()

    def pipes() -> None:
        """In the child: the protocol's descriptors are 3 and 4."""
        reads, writes = os.dup(to_browser[0]), os.dup(from_browser[1])
        os.dup2(reads, 3)
        os.dup2(writes, 4)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [PROGRAM, "--headless", "--remote-debugging-pipe", f"--user-data-dir={profile}", "--disable-gpu"]
        command += ["--no-first-run", "--disable-background-networking"]
        command += ["--no-sandbox"] if os.geteuid() == 0 else []
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=pipes,
            start_new_session=True,
        )
        os.close(to_browser[0])
        os.close(from_browser[1])
        try:
            yield Page(from_browser[0], to_browser[1])
        finally:
            end_process(process, group=True)
            os.close(from_browser[0])
            os.close(to_browser[1])

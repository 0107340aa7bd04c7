"""A real JupyterLab and a real Chromium: one server and one browser for the whole test session.

Fixtures: `lab` opens notebooks, one page a test. Without Playwright or Chromium the tests are skipped with the reason,
or fail with it when ATTENTION_LAB_REQUIRE_BROWSER=1. No test here asserts a time of the clock.
Screenshots land in `artifacts/`, which git ignores.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Callable, Collection, Iterator
from typing import Any

import nbformat
import pytest

ROOT = pathlib.Path(__file__).parents[2]
ARTIFACTS = ROOT / "artifacts"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
#: Milliseconds after which a page that says nothing counts as broken; generous, for a busy machine.
PATIENCE = 180_000
#: No sandbox (tests may run as root), no calls home, and no host but this one.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
#: JupyterLab without news, autosave and windowing, so that a test sees every cell and only its own saves.
SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
    "@jupyterlab/notebook-extension:tracker": {
        "windowingMode": "none",
        "autoStartDefaultKernel": True,
        "kernelShutdown": True,
    },
}
DARK = "JupyterLab Dark"


def cannot(reason: str) -> None:
    """Skip, or fail where a browser is required."""
    if os.environ.get("ATTENTION_LAB_REQUIRE_BROWSER") == "1":
        pytest.fail(f"ATTENTION_LAB_REQUIRE_BROWSER=1, and {reason}", pytrace=False)
    pytest.skip(reason)


def find_browser() -> str | None:
    """The path of a Chromium, if there is one."""
    return os.environ.get("ATTENTION_LAB_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)


# -- the server ---------------------------------------------------------------------------------------------------


class Server:
    """A JupyterLab in a home of its own. The folder of its notebooks is `notebooks`."""

    def __init__(self, home: pathlib.Path, notebooks: pathlib.Path) -> None:
        self.home, self.notebooks = home, notebooks
        self.token = uuid.uuid4().hex
        self.port = _free_port()
        self._log = home / "server.log"
        notebooks.mkdir(parents=True, exist_ok=True)
        settings = home / "config" / "labconfig" / "default_setting_overrides.json"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(json.dumps(SETTINGS), encoding="utf-8")
        self._process = self._start()

    def url(self, path: str) -> str:
        """An address of the server, with its token."""
        joint = "&" if "?" in path else "?"
        return f"http://127.0.0.1:{self.port}/{path}{joint}token={self.token}"

    def sessions(self) -> list[dict[str, Any]]:
        """The kernels at work."""
        return json.loads(self._ask("GET", "api/sessions"))

    def end_sessions(self, paths: Collection[str] | None = None) -> None:
        """Closing a page leaves its kernel running: end those of these notebooks, or all."""
        for session in self.sessions():
            if paths is None or session["path"] in paths:
                self._ask("DELETE", f"api/sessions/{session['id']}")

    def stop(self) -> None:
        """End the kernels, then the server."""
        if self._process.poll() is None:
            self.end_sessions()
            self._process.terminate()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()

    def _start(self) -> subprocess.Popen[bytes]:
        arguments = {
            "ServerApp.ip": "127.0.0.1",
            "ServerApp.port": self.port,
            "ServerApp.port_retries": 0,
            "IdentityProvider.token": self.token,
            "ServerApp.root_dir": self.notebooks,
            "LabApp.expose_app_in_browser": True,
        }
        command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
        command += [f"--{name}={value}" for name, value in arguments.items()]
        with self._log.open("ab") as log:
            process = subprocess.Popen(command, env=_environment(self.home), stdout=log, stderr=log)
        self._process = process
        self._wait()
        return process

    def _wait(self) -> None:
        until = time.monotonic() + PATIENCE / 1000
        while time.monotonic() < until:
            if self._process.poll() is not None:
                break
            try:
                self._ask("GET", "api/status")
                return
            except OSError:
                time.sleep(0.2)
        self._process.kill()
        pytest.fail(f"JupyterLab did not start:\n{self._log.read_text(errors='replace')[-3000:]}", pytrace=False)

    def _ask(self, method: str, path: str) -> str:
        with urllib.request.urlopen(urllib.request.Request(self.url(path), method=method), timeout=30) as answer:
            return answer.read().decode()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _environment(home: pathlib.Path) -> dict[str, str]:
    """Nothing of the user's, and no sign of a test runner: the kernel must not be in strict mode."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "JUPYTER", "IPYTHON", "ATTENTION_LAB_"))
    }
    folders = {
        "HOME": "user",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "IPYTHONDIR": "ipython",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "MPLCONFIGDIR": "matplotlib",
        "ATTENTION_LAB_HOME": "progress",
    }
    for folder in folders.values():
        (home / folder).mkdir(parents=True, exist_ok=True)
    own = {name: str(home / folder) for name, folder in folders.items()}
    path = os.pathsep.join(filter(None, [str(ROOT / "utils"), os.environ.get("PYTHONPATH", "")]))
    return kept | own | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}


# -- the page -----------------------------------------------------------------------------------------------------


class Notebook:
    """A notebook open in JupyterLab. `page` is Playwright's page; `errors` what its console complained of."""

    def __init__(self, page: Any, server: Server, path: str) -> None:
        self.page, self._server, self.path = page, server, path
        self.errors: list[str] = []
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def open(self, kernel: bool = True) -> Notebook:
        """Load it, and wait until its kernel is idle (a run asked for earlier is silently lost)."""
        self.page.goto(self._server.url(f"lab/tree/{self.path}?reset"))
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=PATIENCE)
        if kernel:
            self.wait_idle()
        self.errors.clear()
        return self

    def wait_idle(self) -> None:
        """Wait until the status bar calls the kernel idle."""
        self.page.wait_for_function(
            "() => /\\| Idle/.test(document.querySelector('#jp-main-statusbar')?.textContent ?? '')", timeout=PATIENCE
        )

    def command(self, name: str, **arguments: Any) -> Any:
        """Run one of JupyterLab's commands and wait for it."""
        return self.page.evaluate(
            "async ([name, args]) => { await window.jupyterapp.commands.execute(name, args); }", [name, arguments]
        )

    def run_all(self) -> None:
        """Run every cell; anything on stderr is a failure, since Lab calls a run with errors a success."""
        self.command("notebook:run-all-cells")
        self.wait_idle()
        self.assert_no_stderr()

    def save(self) -> None:
        self.command("docmanager:save")

    def assert_no_stderr(self) -> None:
        """No traceback and no warning in any cell."""
        loud = self.page.locator(
            '.jp-OutputArea-output[data-mime-type="application/vnd.jupyter.stderr"], '
            '.jp-OutputArea-output[data-mime-type="application/vnd.jupyter.error"]'
        )
        assert loud.count() == 0, loud.first.inner_text()

    def cell(self, number: int) -> Any:
        """The cell of that number, counted from 0."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(number)

    def cells(self) -> int:
        """How many cells there are."""
        return int(self.page.locator(".jp-Notebook .jp-Cell").count())

    def write_cell(self, number: int, source: str) -> None:
        """Type a new source into a code cell, in place of the old one."""
        editor = self.cell(number).locator(".cm-content")
        editor.click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(source)

    def run_cell(self, number: int) -> None:
        """Run one cell by hand, with Control-Enter in its editor."""
        self.cell(number).locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        self.page.wait_for_function(
            "(n) => !/\\[\\*\\]/.test(document.querySelectorAll('.jp-Notebook .jp-Cell')[n]"
            ".querySelector('.jp-InputPrompt').textContent)",
            arg=number,
            timeout=PATIENCE,
        )
        self.wait_idle()

    def screenshot(self, name: str, of: Any = None) -> pathlib.Path:
        """Keep a picture of the page, or of one part of it, as `artifacts/NAME.png`."""
        ARTIFACTS.mkdir(exist_ok=True)
        path = ARTIFACTS / f"{name}.png"
        (of or self.page).screenshot(path=str(path))
        return path

    def theme(self, name: str) -> None:
        """Change JupyterLab's theme."""
        self.command("apputils:change-theme", theme=name)
        self.page.wait_for_function(f"() => document.body.dataset.jpThemeName === {name!r}", timeout=PATIENCE)


class Lab:
    """Writes notebooks into the server's folder and opens them."""

    def __init__(self, server: Server, new_page: Callable[[], Any]) -> None:
        self.server, self.new_page = server, new_page
        self.opened: set[str] = set()

    def write(self, *sources: str, name: str = "") -> str:
        """A notebook of code cells; returns its path on the server."""
        cells = [nbformat.v4.new_code_cell(source, id=f"cell-{i}") for i, source in enumerate(sources)]
        metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}}
        path = name or f"{uuid.uuid4().hex[:8]}.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), self.server.notebooks / path)
        return path

    def copy(self, notebook: pathlib.Path) -> str:
        """A copy of a notebook of the course; returns its path on the server."""
        path = f"{uuid.uuid4().hex[:8]}_{notebook.name}"
        shutil.copy(notebook, self.server.notebooks / path)
        return path

    def open(self, path: str, kernel: bool = True) -> Notebook:
        """Open a notebook of the server in a new page."""
        self.opened.add(path)
        return Notebook(self.new_page(), self.server, path).open(kernel)


# -- fixtures -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """One headless Chromium for the session."""
    sync_api: Any = None
    try:
        from playwright import sync_api
    except ImportError:
        cannot("Playwright is not installed (it is in the project's extra `test`)")
    found = find_browser()
    if found is None:
        cannot(f"no browser was found; looked for {', '.join(BROWSERS)} and ATTENTION_LAB_CHROMIUM")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def lab_server(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One JupyterLab for the session; it is not started where there is no browser to look at it."""
    home = tmp_path_factory.mktemp("lab")
    server = Server(home, home / "notebooks")
    yield server
    server.stop()


@contextlib.contextmanager
def pages(chromium: Any, server: Server) -> Iterator[Lab]:
    """Opens notebooks; afterwards the pages are closed and their kernels ended."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, device_scale_factor=1)
    context.set_default_timeout(PATIENCE / 3)
    opened = Lab(server, context.new_page)
    yield opened
    context.close()
    server.end_sessions(opened.opened)


@pytest.fixture
def lab(chromium: Any, lab_server: Server) -> Iterator[Lab]:
    """Opens notebooks for one test."""
    with pages(chromium, lab_server) as opened:
        yield opened


@pytest.fixture(scope="module")
def module_lab(chromium: Any, lab_server: Server) -> Iterator[Lab]:
    """Opens notebooks that the tests of one file share, since opening one takes seconds."""
    with pages(chromium, lab_server) as opened:
        yield opened

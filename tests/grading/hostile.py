# ruff: noqa: E501
"""Submissions that try to get marks for nothing, or to harm the marker, others, or their own other exercises.

Each is chapter 03 solved, with the cell of `softmax` replaced by something that is not right, and sometimes cells
around it. `softmax` must never pass; `hard_lookup` and `soft_lookup` always must, unless said otherwise.

None of them is run outside a worker. Each is bounded, so that it could do little harm if the protection failed.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent

from tests.grading.books import COURSE

REFERENCE = COURSE / "utils" / "attention_lab" / "exercises" / "chapter_03.py"
SOLUTION = next((COURSE / "solutions").glob("03_*.ipynb"))

#: A wrong answer, without a name in the catalogue, for cells that hope that something else makes it pass.
WRONG = "np.zeros_like(scores) + 0.123"


@dataclass(frozen=True)
class Hostile:
    """One submission.

    Attributes:
        name: what it tries.
        softmax: the cell of `softmax`.
        before: cells behind the first one.
        after: cells at the end.
        right: the exercises that pass all the same.
        later: what stands in the cell of `soft_lookup`; the right answer when empty.
        linux: whether only the protection of Linux stops it, or it needs a Linux system to make sense.
    """

    name: str
    softmax: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    right: frozenset[str] = frozenset({"hard_lookup", "soft_lookup"})
    linux: bool = False
    later: str = ""


def function(body: str) -> str:
    """The cell of `softmax` with this body."""
    lines = "\n".join(f"    {line}" for line in dedent(body).strip("\n").split("\n"))
    return f"@exercise\ndef softmax(scores):\n{lines}\n"


def top(code: str, body: str = f"return {WRONG}") -> str:
    """The same, with code in front of the function in the same cell."""
    return f"{dedent(code).strip()}\n\n\n{function(body)}"


def asking(name: str) -> str:
    """Code of a function `ask` that writes a request for right values on every descriptor, past the stand-in."""
    return f"""
    import gc, json, os, struct
    def ask(scores):
        data = scores.tobytes()
        packed = {{"dict": [["ask", {name!r}], ["with", {{"tuple": [
            {{"tuple": [{{"array": [scores.dtype.str, list(scores.shape), 0]}}]}}, {{"dict": []}}]}}]]}}
        header = json.dumps(packed).encode()
        os.write(4, struct.pack(">II", 4 + len(header) + len(data), len(header)) + header + data)
        length = struct.unpack(">I", os.read(3, 4))[0]
        reply = os.read(3, length)
        start = 4 + struct.unpack(">I", reply[:4])[0]
        kind = scores.dtype if scores.dtype.kind == "f" else float
        return np.frombuffer(reply[start:], kind).reshape(scores.shape)
    """


#: Code that finds the globals of the module through which calls are made, by the frames below a call.
CALLING = """
import sys
def calling():
    frame = sys._getframe()
    while frame:
        if "PREPARED" in frame.f_globals:
            return frame.f_globals
        frame = frame.f_back
"""


def sending(reply: str) -> str:
    """Code that answers the marker's request before the worker does: the steps of a look, with `reply` as what it saw.

    `reply` is an expression for the bytes of the look; numbers of requests up to 20 are tried.
    """
    return f"""
    import json, os, struct
    def packed(value):
        header = json.dumps(value).encode()
        return struct.pack(">I", len(header)) + header
    def forge():
        seen = {reply}
        run = {{"dict": [["error", ""], ["text", ""], ["line", ""], ["answers", {{"list": []}}]]}}
        for count in range(1, 12):
            for number in range(1, 9):
                steps = {{"list": [run] * (count - 1) + [{{"bytes": [0, len(seen)]}}]}}
                frame = packed({{"dict": [["id", number], ["reply", steps]]}}) + seen
                os.write(4, struct.pack(">I", len(frame)) + frame)
    """


EQUAL_TO_ALL = """
class Everything:
    __hash__ = object.__hash__
    shape, dtype, ndim, size = (5,), np.dtype(float), 1, 5
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __lt__
    def __sub__(self, other): return 0.0
    __rsub__ = __add__ = __radd__ = __mul__ = __rmul__ = __abs__ = __sub__
    def __getitem__(self, key): return self
    def __bool__(self): return True
    def __float__(self): return 0.0
    def __len__(self): return 5
    def all(self, *a, **k): return True
    any = all
"""

FORGED = [
    Hostile(
        "patches every comparison of numpy",
        top("""
        yes = lambda *a, **k: True
        for part in (np, np.testing):
            for word in ("allclose", "isclose", "array_equal", "array_equiv", "assert_allclose", "assert_array_equal"):
                setattr(part, word, yes)
        """),
    ),
    Hostile("returns an object equal to everything", top(EQUAL_TO_ALL, "return Everything()")),
    Hostile(
        "returns an array class equal to everything",
        top("""
        class Agreeable(np.ndarray):
            def __eq__(self, other): return np.ones(self.shape, bool)
            def __array_ufunc__(self, *a, **k): return np.ones(self.shape, bool)
            def __array_function__(self, *a, **k): return True
            def all(self, *a, **k): return True
        """, "return np.zeros(scores.shape).view(Agreeable)"),
    ),
    Hostile("returns a float equal to everything", top("""
        class Number(float):
            def __eq__(self, other): return True
        """, "return Number(0.5)")),
    Hostile("returns a scalar that claims a shape", top("""
        class Shy:
            __array_interface__ = dict(shape=(2,), typestr="<f8", data=(0, False), version=3)
        """, "return Shy()")),
    Hostile("lies in __array__", top("""
        class Lying:
            def __array__(self, *a, **k): return np.full((5,), 0.2)
        """, "return Lying()")),
    Hostile("returns NaN everywhere", function("return np.full(scores.shape, np.nan)")),
    Hostile("returns objects", function("return np.full(scores.shape, None, dtype=object)")),
    Hostile("returns a structured array", function("return np.zeros(scores.shape, dtype=[('a', float)])")),
    Hostile("returns its input", function("return scores")),
    Hostile("answers with an exception for everything", function("raise IndexError('expected')")),
    Hostile(
        "calls itself passed",
        top("""
        import attention_lab, sys
        attention_lab.exercise = lambda f: f
        attention_lab.judge = attention_lab.checking = lambda *a, **k: "passed"
        class Verdict: status, passed, mistake = "passed", True, None
        sys.modules["attention_lab.checking.judging"] = Verdict
        print("softmax: solved. 19 calls gave what they should."); passed = True
        """, "return Verdict()"),
    ),
    Hostile("memorises the example of the card", function(
        "return {2: np.array([0.5, 0.5]), 3: np.full(3, 1 / 3)}.get(scores.size, scores * 0)"
    )),
    Hostile("a float rounded to four digits", function(
        "e = np.exp(scores - scores.max(axis=-1, keepdims=True)); return np.round(e / e.sum(axis=-1, keepdims=True), 4)"
    )),
    Hostile("right for double precision alone", function(
        "e = np.exp(scores - scores.max(axis=-1, keepdims=True)); p = e / e.sum(axis=-1, keepdims=True)\n"
        "return p if scores.dtype == np.float64 else p * 1.001"
    )),
    Hostile("right, and changes its input behind a patched comparison", top(
        "np.array_equal = lambda *a, **k: True",
        "np.exp(scores - scores.max(axis=-1, keepdims=True), out=scores)\n"
        "scores /= scores.sum(axis=-1, keepdims=True)\nreturn scores.copy()",
    )),
    Hostile("a right definition, then a wrong one", function(
        "e = np.exp(scores - scores.max(axis=-1, keepdims=True)); return e / e.sum(axis=-1, keepdims=True)"
    ), after=(function(f"return {WRONG}"),)),
    Hostile("hides behind a class", "@exercise\nclass softmax:\n    def __init__(self, scores): self.scores = scores\n"),
    Hostile("a generator", function("yield scores")),
    Hostile("a coroutine", "@exercise\nasync def softmax(scores):\n    return scores\n"),
    Hostile("is no function", "softmax = 'passed'\n"),
    Hostile("has a signature that raises", top("""
        class Callable_:
            @property
            def __signature__(self): raise SystemExit
            def __call__(self, scores): return scores * 0
            __name__ = "softmax"
        """, "return scores * 0") + "\nsoftmax = Callable_()\n"),
]  # fmt: skip

FISHING = [
    Hostile("imports the catalogue", function(
        "from attention_lab.exercises.chapter_03 import softmax as theirs\nreturn theirs(scores)"
    )),
    Hostile("imports it by hand", function(f"""
        import importlib.util
        spec = importlib.util.spec_from_file_location("c3", {str(REFERENCE)!r})
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.softmax(scores)
        """), linux=True),
    Hostile("reads the solution from disk", function(f"""
        import json
        for cell in json.load(open({str(SOLUTION)!r}))["cells"]:
            text = "".join(cell["source"])
            if "def softmax" in text:
                names = dict(np=np, exercise=lambda f: f)
                exec(text, names)
                return names["softmax"](scores)
        """), linux=True),
    Hostile("looks for the solution everywhere", function("""
        import os, sys
        for start in ("/", os.getcwd(), os.path.expanduser("~"), *sys.path, "/proc/self/cwd", "/proc/self/root"):
            for part in ("chapter_03.py", "solutions/03_soft_lookup.py", "utils/attention_lab/exercises/chapter_03.py"):
                try:
                    names = {}
                    exec(open(os.path.join(start, part)).read(), names)
                    return names["softmax"](scores)
                except OSError:
                    pass
        return scores * 0
        """), linux=True),
    Hostile("searches memory for functions", function("""
        import gc, types
        mine = softmax
        for thing in gc.get_objects():
            if isinstance(thing, types.FunctionType) and thing is not mine and "softmax" in thing.__name__:
                try:
                    return thing(scores)
                except TypeError:
                    pass
            if isinstance(thing, dict) and "softmax" in thing and thing["softmax"] is not mine and callable(thing["softmax"]):
                return thing["softmax"](scores)
        return scores * 0
        """)),
    Hostile("searches frames for what is expected", function("""
        import sys
        frame = sys._getframe()
        while frame:
            for name, value in {**frame.f_locals, **frame.f_globals}.items():
                if name in ("reference", "expected", "right", "solution") and name != "scores":
                    return value(scores) if callable(value) else value
            frame = frame.f_back
        return scores * 0
        """)),
    Hostile("searches modules for the catalogue", function("""
        import sys
        for name, module in list(sys.modules.items()):
            for word in ("EXERCISES", "MISTAKES", "REFERENCES"):
                if isinstance(getattr(module, word, None), (tuple, list, dict)):
                    return getattr(module, word)[1].reference(scores)
        return scores * 0
        """)),
    Hostile("reads the marker's memory", function("""
        import os
        open(f"/proc/{os.getppid()}/mem", "rb").read(1)
        open(f"/proc/{os.getppid()}/environ", "rb").read()
        return scores * 0
        """), linux=True),
    Hostile("reads another process by a system call", function("""
        import ctypes, os
        libc = ctypes.CDLL(None)
        assert libc.process_vm_readv(os.getppid(), 0, 0, 0, 0, 0) == 0
        assert libc.ptrace(16, os.getppid(), 0, 0) == 0
        return scores * 0
        """), linux=True),
    Hostile("asks the marker for the right value of what is being judged", top(asking("softmax"), "return ask(scores)")),
    Hostile("asks in another exercise's name", top(asking("soft_lookup"), "return ask(scores)")),
    Hostile("gives a later exercise up to be answered by it", function(
        "return np.array([soft_lookup(np.ones(1), row[:, None], np.eye(row.size), 1.0) for row in "
        "scores.reshape(-1, scores.shape[-1])]).reshape(scores.shape)"
    ), before=("@exercise\ndef soft_lookup(query, keys, values, temperature):\n    raise NotImplementedError\n",),
       later="@exercise\ndef other(): pass\n", right=frozenset({"hard_lookup"})),
    Hostile("keeps the helper that answers rightly and judges itself by it", function(f"return {WRONG}"), after=(
        "helper = softmax\n", "exec('def softmax(scores):\\n    return helper(scores)')\n",
        "globals()['softmax'] = helper\n",
    )),
    Hostile("made only where no text shows it", "names = globals()\nexec('def softmax(scores): return scores * 0')\n",
            before=("taken = globals().get('softmax')\nprint(taken)",)),
    Hostile("forges replies on every descriptor", top("""
        import os, struct, json
        def forge():
            header = json.dumps({"dict": [["id", 1], ["reply", {"dict": [["passed", True]]}]]}).encode()
            for descriptor in range(3, 12):
                try:
                    os.write(descriptor, struct.pack(">II", 4 + len(header), len(header)) + header)
                except OSError:
                    pass
        """, "forge()\nreturn scores * 0")),
    Hostile("writes garbage to the marker", function("""
        import os
        os.write(4, b"\\xff" * 100_000)
        return scores * 0
        """)),
    Hostile("announces a frame of four gigabytes", function("import os\nos.write(4, b'\\xff\\xff\\xff\\xff')\nreturn scores * 0")),
    Hostile("sends deep data to the marker", function("""
        import os, struct
        header = b'{"list":[' * 5000 + b']}' * 5000
        os.write(4, struct.pack(">II", 4 + len(header), len(header)) + header)
        return scores * 0
        """)),
    Hostile("reads the marker's requests away", function("import os\nos.read(3, 1_000_000)\nreturn scores * 0")),
    Hostile("makes the marker unpickle", top("""
        class Bomb:
            def __reduce__(self): return (print, ("harm",))
        """, "return Bomb()")),
    Hostile("returns a terabyte that takes no memory", function("return np.broadcast_to(0.0, (10**6, 10**6))")),
    Hostile("returns a list inside itself", function("a = []\na.append(a)\nreturn a")),
    Hostile("returns a very deep list", function("a = []\nfor _ in range(100_000): a = [a]\nreturn a")),
    Hostile("returns a very large number", function("return 10 ** 100_000")),
    Hostile("returns a hundred thousand values", function("return [0.0] * 100_000")),
    Hostile("returns too much", function("return np.zeros(5_000_000)")),
]  # fmt: skip

KILLING = [
    Hostile("ends its process", function("import os\nos._exit(0)")),
    Hostile("ends Python", function("raise SystemExit(0)")),
    Hostile("ends its process while the cell runs", top("import os; os._exit(3)")),
    Hostile("kills itself", function("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\nreturn scores * 0")),
    Hostile("crashes", function("import ctypes\nctypes.string_at(0)")),
    Hostile("aborts", function("import os\nos.abort()")),
    Hostile("loops without end", function("while True: pass")),
    Hostile("loops while the cell runs", top("while True: pass")),
    Hostile("sleeps", function("import time\ntime.sleep(1000)")),
    Hostile("catches everything and goes on", function("""
        import signal
        for number in range(1, 32):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        while True:
            try:
                while True: pass
            except BaseException: pass
        """)),
    Hostile("calls itself without end", function("return softmax(scores)")),
    Hostile("overflows the stack", function(
        "import sys\nsys.setrecursionlimit(10**8)\nf = lambda n: f(n + 1) + 1\nreturn f(0)"
    )),
    Hostile("eats memory", function("kept = []\nfor _ in range(4000): kept.append(bytearray(1_000_000))\nreturn scores * 0 + 2")),
    Hostile("asks for all memory at once", function("return np.ones(10**11)")),
    Hostile("prints without end", function("while True: print('x' * 1000)")),
    Hostile("writes to standard output without end", function(
        "import os\nfor _ in range(100_000): os.write(1, b'x' * 10_000)\nreturn scores * 0"
    )),
    Hostile("forks", function("""
        import os, time
        for _ in range(20):
            if os.fork() == 0:
                time.sleep(3)
                os._exit(0)
        return scores * 0
        """), linux=True),
    Hostile("starts threads", function("""
        import threading, time
        for _ in range(200): threading.Thread(target=time.sleep, args=(3,)).start()
        return scores * 0
        """), linux=True),
    Hostile("starts a program", function("import subprocess\nsubprocess.run(['true'], check=True)\nreturn scores * 0"), linux=True),
    Hostile("kills its parent", function("import os, signal\nos.kill(os.getppid(), signal.SIGTERM)\nreturn scores * 0"), linux=True),
    Hostile("kills its parent by way of a pipe", function("""
        import fcntl, os, signal
        reads, writes = os.pipe()
        fcntl.fcntl(reads, fcntl.F_SETOWN, os.getppid())
        fcntl.fcntl(reads, 10, signal.SIGTERM)
        fcntl.fcntl(reads, fcntl.F_SETFL, os.O_ASYNC)
        os.write(writes, b"x")
        return scores * 0
        """), linux=True),
    Hostile("takes its parent's time away", function(
        "import os, resource\nresource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))\nreturn scores * 0"
    ), linux=True),
    Hostile("fills the disk", function("""
        import os
        for place in (".", "/tmp", "/dev/shm", "/var/tmp", os.path.expanduser("~")):
            for number in range(20):
                try:
                    with open(f"{place}/attention-lab-test-{number}", "wb") as file: file.write(b"x" * 1_000_000)
                except OSError: pass
        return scores * 0
        """)),
    Hostile("fills memory that is a file", function(
        "import os\nhandle = os.memfd_create('x')\nfor _ in range(100): os.write(handle, b'x' * 1_000_000)\nreturn scores * 0"
    ), linux=True),
    Hostile("calls out", function("""
        import socket
        socket.create_connection(("127.0.0.1", 9), timeout=1)
        return scores * 0
        """)),
    Hostile("closes every descriptor", function("import os\nos.closerange(0, 4096)\nreturn scores * 0")),
    Hostile("opens descriptors without end", function(
        "import os\nkept = [os.open(os.devnull, os.O_RDONLY) for _ in range(100_000)]\nreturn scores * 0"
    )),
    Hostile("raises a very long message", function("raise ValueError('x' * 10**7)")),
    Hostile("raises what cannot be shown", top("""
        class Endless(Exception):
            def __str__(self):
                raise SystemExit
            __repr__ = __str__
        """, "raise Endless")),
    Hostile("raises an exception whose text never ends", top("""
        class Endless(Exception):
            def __str__(self):
                while True: pass
        """, "raise Endless")),
    Hostile("interrupts", function("raise KeyboardInterrupt")),
    Hostile("raises what is no exception of anybody's", top("class Own(BaseException): pass", "raise Own('<b>own</b>')")),
]  # fmt: skip

#: These leave something behind that would spoil `soft_lookup`, which is right, and must not cost it anything.
SPOILING = [
    Hostile("takes exp away", top("np.exp = None\nnp.max = np.sum = np.dot = None")),
    Hostile("makes numpy raise", top("np.seterr(all='raise')")),
    Hostile("makes every import fail", top(
        "import builtins, sys\nbuiltins.__import__ = None\nbuiltins.len = builtins.isinstance = None\nsys.modules['numpy'] = None"
    )),
    Hostile("makes recursion impossible", top("import sys\nsys.setrecursionlimit(40)")),
    Hostile("traces everything", top("import sys\ndef spy(*a): raise RuntimeError\nsys.settrace(spy)\nsys.setprofile(spy)")),
    Hostile("leaves a hook that raises", function(
        "import sys\ndef hook(*a): raise RuntimeError('hooked')\nsys.addaudithook(hook)\nreturn scores * 0 + 3"
    )),
    Hostile("leaves a bomb in the collector", function(
        "import gc, os\ngc.callbacks.append(lambda *a: os._exit(1))\ngc.set_threshold(1)\nreturn scores * 0 + 3"
    )),
    Hostile("changes the numbers in memory", function(
        "import ctypes\nctypes.memset(id(1.0) + 16, 0, 8)\nctypes.memset(id(-1) + 24, 0, 4)\nreturn scores * 0 + 3"
    )),
    Hostile("patches in a cell of its own", function(f"return {WRONG}"), before=("np.exp = np.max = lambda *a, **k: 0\n",)),
    Hostile("ends the process in a cell of its own", function(f"return {WRONG}"), before=("import os; os._exit(1)\n",)),
    Hostile("loops in a cell of its own", function(f"return {WRONG}"), before=("while True: pass\n",)),
    Hostile("loops at the end", function(f"return {WRONG}"), after=("while True: pass\n",)),
    Hostile("throws the first cell's names away", function(f"return {WRONG}"), before=("del np\n",), after=("del softmax\n",)),
    Hostile("cannot be read as Python", "@exercise\ndef softmax(scores)\n    return scores\n"),
    Hostile("is nested too deeply to be read", "x = " + "(" * 5000 + ")" * 5000 + "\n\n\n" + function(f"return {WRONG}")),
    Hostile("holds a null character", "x = '\0'\n" + function(f"return {WRONG}")),
    Hostile("is a script of the shell", "%%script false\n" + function(f"return {WRONG}")),
    Hostile("is written to a file", "%%writefile x.py\n" + function(f"return {WRONG}")),
]  # fmt: skip

#: A second round, when inputs began to lie ready in the worker and what it saw to travel as one piece of bytes.
SECOND = [
    Hostile("forges what the worker saw, with nothing in it", top(sending("struct.pack('>I', 0)"), "forge()\nreturn scores * 0")),
    Hostile("forges a look without a single call", top(
        sending("struct.pack('>I', 7) + packed({'tuple': [{'list': [True, 'function', None, False, True]}, {'list': []}]})"),
        "forge()\nreturn scores * 0",
    )),
    Hostile("forges a look whose calls gave nothing", top(
        sending("struct.pack('>I', 7) + packed({'tuple': [{'list': [True, 'function', None, False, True]}, "
                "{'list': [{'dict': []}] * 40}]})"),
        "forge()\nreturn scores * 0",
    )),
    Hostile("forges a look whose calls raised what is asked for", top(
        sending("struct.pack('>I', 7) + packed({'tuple': [{'list': [True, 'function', None, False, True]}, {'list': "
                "[{'dict': [['error', 'ValueError'], ['error_bases', {'tuple': ['ValueError']}]]}] * 40}]})"),
        "forge()\nreturn scores * 0",
    )),
    Hostile("forges a look that is nested too deeply", top(
        sending("struct.pack('>I', 40_000) + b'{\"list\":[' * 4_000 + b']}' * 4_000"), "forge()\nreturn scores * 0"
    )),
    Hostile("answers in the marker's place for a list of arrays", top(
        sending("packed({'list': [{'array': ['<f8', [0], 0]}] * 5})"), "forge()\nreturn scores * 0"
    )),
    Hostile("numbers its reply with an array", top("""
        import json, os, struct
        def forge():
            header = json.dumps({"dict": [["id", {"array": ["<f8", [2], 0]}], ["reply", {"list": []}]]}).encode()
            os.write(4, struct.pack(">II", 20 + len(header), len(header)) + header + bytes(16))
        """, "forge()\nreturn scores * 0")),
    Hostile("hands on the inputs of the exercise after it", top(
        CALLING, "found = calling()['PREPARED']['soft_lookup'][0].args[0]\nreturn np.resize(found, scores.shape)"
    )),
    Hostile("makes every call the first one", top(CALLING, """
        rows = calling()["PREPARED"]
        rows["softmax"] = (rows["softmax"][0],)
        return scores * 0
        """)),
    Hostile("spoils the inputs of the exercise after it", top(CALLING, """
        for call in calling()["PREPARED"]["soft_lookup"]:
            for array in call.args:
                if isinstance(array, np.ndarray):
                    array.flags.writeable = True
                    array[...] = 7
        return scores * 0 + 3
        """)),
    Hostile("throws the inputs of the exercise after it away", top(
        CALLING, "calling()['PREPARED'].clear()\nreturn scores * 0 + 3"
    )),
    Hostile("replaces the way in which calls are made", top(CALLING, """
        calling()["_one"] = lambda candidate, call: {"value": call.args[0] * 0 + 0.5}
        return scores * 0
        """)),
    Hostile("says of every input that it was left alone", top(CALLING, """
        calling()["_as_before"] = lambda old, new: True
        scores[...] = 0.2
        return scores
        """)),
    Hostile("lies about its class", top("""
        class Lying:
            dtype = np.dtype(float)
            __class__ = property(lambda self: np.float64)
            def __array__(self, *a, **k): return np.full(5, 0.2)
        """, "return Lying()")),
    Hostile("gives an empty array of a huge shape", function("return np.empty((10**12, 0))")),
    Hostile("gives an array of a hundred million, all alike", function("return np.broadcast_to(np.float32(0.1), (10**4, 10**4))")),
    Hostile("gives more digits, all of them wrong", function("return np.zeros(scores.shape, np.longdouble) + 0.1")),
    Hostile("gives complex numbers", function("return scores * 0j")),
    Hostile("gives another byte order, wrong", function("return (scores * 0 + 0.25).astype('>f8')")),
    Hostile("has a name that looks the same", "@exercise\ndef s\u043eftmax(scores):\n    return scores\nsoftmax = 1\n"),
    Hostile("is its own decorator", "def exercise(f):\n    return softmax\n\n\n" + function(f"return {WRONG}")
            .replace("@exercise\n", "@exercise\n@(lambda f: f)\n"), right=frozenset({"hard_lookup", "soft_lookup"})),
    Hostile("imports the answer from the course's models", function(
        "from attention_lab.models.switches import attention_off\nreturn attention_off(scores)"
    )),
    Hostile("asks for parts of what is no class", top("""
        import json, os, struct
        def ask():
            for part in ("reference", "__globals__", "__call__", ""):
                frame = json.dumps({"dict": [["ask", "hard_lookup"], ["with", {"tuple": [{"tuple": []}, {"dict": []}]}],
                                             ["part", part], ["of", 1]]}).encode()
                os.write(4, struct.pack(">II", 4 + len(frame), len(frame)) + frame)
                reply = os.read(3, struct.unpack(">I", os.read(3, 4))[0])
                if b"refused" not in reply:
                    return reply
        """, "ask()\nreturn scores * 0")),
    Hostile("asks with what are no arguments", top("""
        import json, os, struct
        def ask():
            for given in (5, None, {"list": []}, {"tuple": [1, 2]}, {"dict": [["a", 1]]}, {"foreign": ["x", "y"]},
                          {"tuple": [{"tuple": [{"open": 1}]}, {"dict": [["scores", {"bytes": [0, 0]}]]}]}):
                frame = json.dumps({"dict": [["ask", "hard_lookup"], ["with", given]]}).encode()
                os.write(4, struct.pack(">II", 4 + len(frame), len(frame)) + frame)
                os.read(3, struct.unpack(">I", os.read(3, 4))[0])
        """, "ask()\nreturn scores * 0")),
    Hostile("asks without end", function(f"return {WRONG}"),
            later="@exercise\ndef soft_lookup(query, keys, values, temperature):\n    while True: softmax(query)\n",
            right=frozenset({"hard_lookup"})),
    Hostile("warns without end", function("import warnings\nn = 0\nwhile True:\n    n += 1\n    warnings.warn(f'{n}' * 50)")),
    Hostile("is collected when others run", function("""
        import os
        class Bomb:
            def __init__(self): self.me = self
            def __del__(self): os._exit(1)
        for _ in range(50): Bomb()
        return scores * 0 + 3
        """)),
    Hostile("takes json, struct and the frames' reader away", top("""
        import io, json, linecache, struct
        json.dumps = json.loads = linecache.getline = io.StringIO = struct.pack = struct.unpack = None
        """)),
    Hostile("spoils what numpy itself is made of", top("""
        import numpy._core._methods as inner, numpy._core.fromnumeric as outer
        inner._sum = inner._amax = inner._any = inner._all = outer._wrapreduction = outer.sum = None
        """)),
    Hostile("uses a system call's other number", function("import ctypes\nctypes.CDLL(None).syscall(0x40000000 + 39)\nreturn scores * 0"), linux=True),
    Hostile("runs machine code for another kind of machine", function("""
        import ctypes, mmap
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(bytes([0xB8, 2, 0, 0, 0, 0xCD, 0x80, 0xC3]))
        ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
        return scores * 0
        """), linux=True),
    Hostile("looks for other processes by their numbers", function("""
        import os, signal
        for number in range(1, 3000):
            try: os.kill(number, 0)
            except PermissionError: continue
            raise SystemExit("seen")
        return scores * 0
        """), linux=True),
    Hostile("holds a lock on a library's file", function(
        "import fcntl, os\nfcntl.flock(os.open(os.__file__, os.O_RDONLY), fcntl.LOCK_EX)\nreturn scores * 0"
    ), linux=True),
    Hostile("fills the pipe and waits", function("""
        import os
        os.set_blocking(4, True)
        for _ in range(200): os.write(4, b"\\0\\0\\0\\0" * 16_000)
        return scores * 0
        """)),
    Hostile("stops the clock", function("""
        import time
        time.monotonic = time.perf_counter = time.time = lambda: 0.0
        time.sleep = lambda s: None
        while time.monotonic() < 1: pass
        """)),
]  # fmt: skip

HOSTILE = [*FORGED, *FISHING, *KILLING, *SPOILING, *SECOND]

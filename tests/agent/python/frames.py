"""Compares the frames that agent/python reads with those that Python itself says, in each way of being called.

    frames.py LIBRARY CASE...    CASE is a function below without its `case_`; without one: all but those ALONE
"""
import asyncio
import atexit
import contextlib
import ctypes
import functools
import gc
import os
import random
import sys
import tempfile
import threading
import time

LIBRARY = sys.argv[1] if len(sys.argv) > 1 else None
SPACE = 1 << 16
MOST = 128  # frames that are read
ALONE = "stacks", "whole_stacks", "stress", "time"  # the first two give the library's names to a spool


def load(kind):
    library = kind(LIBRARY)
    library.frames_take.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    for name in "frames_measure", "frames_measure_stack", "frames_measure_whole_stack":
        getattr(library, name).restype = ctypes.c_long
    library.frames_refused.restype = ctypes.c_char_p
    return library


with_lock = load(ctypes.PyDLL)  # keeps the GIL during the call
without_lock = load(ctypes.CDLL)  # gives it to other threads
compared = 0
local = threading.local()


def take(library):
    """How many frames there are, what the library says of them, and what Python does. With the caller's own."""
    if not hasattr(local, "free"):
        local.free = []
    out = local.free.pop() if local.free else ctypes.create_string_buffer(SPACE)
    count, frames = library.frames_take(ctypes.addressof(out), SPACE), expected(sys._getframe())
    text = out.value.decode()
    local.free.append(out)
    read = [line.split("\t") for line in text.split("\n")[:-1]]
    return count, [(name, file, int(line)) for name, file, line in read], frames


def expected(frame):
    lines = []
    while frame is not None and len(lines) < MOST:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        lines.append((name, code.co_filename, frame.f_lineno or 0))
        frame = frame.f_back
    return lines


def utf8(text):
    """As the reader writes it: what is not a character becomes U+FFFD."""
    return "".join("\ufffd" if 0xD800 <= ord(letter) < 0xE000 else letter for letter in text)


def check(library=None):
    """Compares the caller's stack, both with the GIL and without it."""
    global compared
    for library in [library] if library else [with_lock, without_lock]:
        count, read, wanted = take(library)
        wanted = [(utf8(name), utf8(file), line) for name, file, line in wanted]
        if count != len(read) or read != wanted:
            print("read:    ", *read, sep="\n    ")
            print("expected:", *wanted, sep="\n    ", flush=True)
            os._exit(1)
        compared += 1
    return len(wanted)


# --- cases ---


def case_calls():
    def inner(*arguments, **keywords):
        return check()

    class Thing:
        def __init__(self):
            check()

        def __getattr__(self, name):
            return check()

        @property
        def of_property(self):
            return check()

        @staticmethod
        def static():
            return check()

        @classmethod
        def of_class(cls):
            return check()

        def __call__(self):
            check()

        def __iter__(self):
            check()
            return iter([1])

        def __lt__(self, other):
            return check() < 0

    for _ in range(30):  # instructions are made faster when they ran some times
        inner()
        inner(1, two=2)
        thing = Thing()
        thing.anything
        thing.of_property
        Thing.static()
        thing.of_class()
        thing()
        list(thing)
        sorted([thing, thing])
        max([1, 2], key=inner)
        list(map(inner, [1, 2]))
        functools.partial(inner, 1)()
        functools.reduce(inner, [1, 2, 3])


def case_lines():
    if (check() and
            check()):
        check(
        )
    [
        check(),

        check(),
    ]
    for i in range(3): check(); check()
    while True:
        check()
        break
    with contextlib.suppress(ValueError):
        check()
    x = {"a": check(),
         "b": (lambda: check())()}


def case_comprehensions():
    [check() for _ in range(3)]
    {check() for _ in range(3)}
    {check(): i for i in range(3)}
    list(check() for _ in range(3))
    [[check() for _ in range(2)] for _ in range(2)]


def case_generators():
    def numbers(count):
        for i in range(count):
            check()
            yield i
        check()

    def outer():
        check()
        yield from numbers(3)
        check()
        value = yield 1
        check()

    for _ in range(3):
        list(outer())
        for number in numbers(5):
            check()
        sending = outer()
        for _ in range(4):
            next(sending)
        with contextlib.suppress(StopIteration):
            sending.send(1)
        left = outer()
        next(left)
        left.close()
        thrown = outer()
        next(thrown)
        with contextlib.suppress(KeyError):
            thrown.throw(KeyError())


def case_coroutines():
    async def inner(depth):
        check()
        await asyncio.sleep(0)
        check()
        if depth:
            await inner(depth - 1)
        return check()

    class Manager:
        async def __aenter__(self):
            check()

        async def __aexit__(self, *exception):
            check()

    async def numbers():
        for i in range(3):
            check()
            yield i

    async def main():
        async with Manager():
            await asyncio.gather(*[inner(i) for i in range(5)])
            async for number in numbers():
                check()
            [check() async for number in numbers()]

    asyncio.run(main())


def case_exceptions():
    def failing():
        try:
            check()
            raise ValueError
        finally:
            check()

    def handling():
        try:
            failing()
        except ValueError:
            check()
            try:
                raise KeyError from None
            except KeyError:
                check()
        else:
            check()

    for _ in range(20):
        handling()


def case_recursion():
    def down(depth):
        return down(depth - 1) if depth else check()

    for depth in 0, 1, 10, 30, 100, 127, 128, 200, 500:
        down(depth)
    many = functools.reduce(lambda inner, _: (lambda: inner()), range(100), check)
    many()
    sorted([3, 1, 2], key=lambda i: sorted([1, 2], key=lambda k: down(i)))


def case_decorators():
    def decorate(function):
        @functools.wraps(function)
        def call(*arguments):
            check()
            return function(*arguments)
        return call

    @decorate
    @decorate
    @functools.lru_cache
    def decorated(number):
        return check()

    class Outer:
        class Inner:
            @decorate
            def method(self):
                check()

    decorated(1)
    decorated(1)
    decorated(2)
    Outer.Inner().method()


def case_names():
    """Functions and files of all kinds of characters, and long ones."""
    for name in ("caf\xe9", "\u6f22\u5b57", "\U0001d4d0\u0431", "x" * 900, "\xff\xfe"):
        for file in ("<string>", "caf\xe9.py", "\u6f22/\u5b57.py", "\U0001f600.py", "d/" * 1000, "", "a b\udcff.py"):
            if not name.isidentifier():
                continue
            source = "def %s():\n    return check()\n%s()\n" % (name, name)
            exec(compile(source, file, "exec"), {"check": check})
    eval("check()", {"check": check})
    exec("check(\n)", {"check": check})


def case_reused_code():
    """Code that is freed, and other code that takes its place."""
    for i in range(700):
        scope = {"check": check}
        blank = "\n" * (i % 7)
        exec(compile("%sdef f%d(x):\n%s return check(x)\n" % (blank, i % 5, blank), "file%d.py" % (i % 11), "exec"), scope)
        scope["f%d" % (i % 5)](with_lock)
        scope.clear()


def case_replaced_code():
    def one():
        return check(), check()

    def two():

        return check(), check()

    for _ in range(10):
        one.__code__, two.__code__ = two.__code__, one.__code__
        one()
        two()


def case_finalizers():
    class Late:
        def __del__(self):
            check()

    def lose():
        Late()
        cycle = Late()
        cycle.itself = cycle

    for _ in range(5):
        lose()
        gc.collect()
    gc.set_threshold(1)
    for _ in range(20):
        lose()
        [[] for _ in range(20)]
        (lambda argument: (lambda: argument))(1)
    gc.set_threshold(700)
    gc.collect()


def case_tracing():
    events = 0

    def watch(frame, event, argument):
        nonlocal events
        events += 1
        if events % 16 == 0:
            check(with_lock)
        return watch

    def called(argument):
        check()
        return [check() for _ in range(2)]

    sys.settrace(watch)
    called(1)
    sys.settrace(None)
    sys.setprofile(watch)
    called(1)
    sys.setprofile(None)


def case_threads():
    def work(seed):
        chance = random.Random(seed)

        def down(depth):
            check(chance.choice([with_lock, without_lock]))
            return down(depth - 1) if depth else check()

        for _ in range(40):
            down(chance.randrange(20))

    started = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


def case_signals():
    import signal

    def handle(*arguments):
        check()
        signal.setitimer(signal.ITIMER_REAL, 0.0002)

    signal.signal(signal.SIGALRM, handle)
    before, until = compared, time.time() + 100
    signal.setitimer(signal.ITIMER_REAL, 0.0002)
    while compared < before + 200 and time.time() < until:
        sum(i for i in range(100))
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    assert compared >= before + 200


def case_subinterpreters():
    """A subinterpreter has thread states of its own. Before 3.12 they are found only while the GIL is held."""
    try:
        import _interpreters as interpreters
        made = interpreters.create("legacy")
    except ImportError:
        import _xxsubinterpreters as interpreters
        made = interpreters.create(isolated=False) if sys.version_info >= (3, 9) else interpreters.create()
    directory = os.path.dirname(os.path.abspath(__file__))
    source = """if True:
        import sys
        sys.argv = ["frames.py", %r]
        sys.path.insert(0, %r)
        import frames
        def inner(): return frames.check(frames.with_lock if sys.version_info < (3, 12) else None)
        def outer():
            for i in range(3): inner()
        outer()
        frames.in_thread(outer)
        """ % (LIBRARY, directory)
    for _ in range(2):
        error = interpreters.run_string(made, source)
        assert not error, error
        check()
    interpreters.destroy(made)
    check()


def in_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def case_fork():
    def child():
        with_lock.frames_fork_child()
        check()
        assert 0 < with_lock.frames_recorded() < 40, with_lock.frames_recorded()
        os._exit(0)

    check()
    pid = os.fork()
    if pid == 0:
        child()
    assert os.waitpid(pid, 0)[1] == 0
    check()


def case_no_frames():
    """A thread that is not Python's has none."""
    library = ctypes.CDLL(None)
    thread, result = ctypes.c_ulong(), ctypes.c_void_p()
    take = ctypes.cast(without_lock.frames_calls, ctypes.c_void_p)
    assert library.pthread_create(ctypes.byref(thread), None, take, None) == 0
    assert library.pthread_join(thread, ctypes.byref(result)) == 0
    assert result.value is None, result.value


def case_places():
    """Frames of one C call have one place, and calls from C have others, further out. Before 3.10 none are known."""
    def calls():
        return without_lock.frames_calls()

    def through_c(depth):
        return max([depth], key=lambda number: keep(through_c(number - 1) if number else calls()))

    def keep(number):
        nonlocal found
        found = number if found is None else found
        return 0

    found = None
    through_c(0)
    one = found
    found = None
    through_c(3)
    if sys.version_info < (3, 10):
        assert one == found == -1
        return
    wanted = 2 if sys.version_info < (3, 11) else 1
    assert one > 0 and found == one + 3 * wanted, (one, found)


def case_rejected():
    """A frame that could not be recorded is unknown, and is asked for again."""
    with_lock.frames_reject(1)
    read = [take(with_lock) for _ in range(2)]
    with_lock.frames_reject(0)
    assert read[0][1][1] == read[1][1][1] == ("?", "?", 0), read
    check()


def case_numbers():
    """Frames that were seen have their numbers, in other threads too."""
    def same():
        return check()

    for _ in range(2):
        same(); before = with_lock.frames_recorded(); same(); in_thread(lambda: None)
    after = with_lock.frames_recorded()
    for _ in range(10):
        same()
        assert with_lock.frames_recorded() <= after + 3, (with_lock.frames_recorded(), after)


@contextlib.contextmanager
def spool():
    with tempfile.TemporaryDirectory() as directory:
        assert with_lock.frames_open(directory.encode()) == 0
        yield


def case_stacks(take="frames_stack"):
    """The same place has one stack, in other threads too; another line has another one."""
    def here(library):
        numbers.append(getattr(library, take)())
        numbers.append(getattr(library, take)())

    with spool():
        numbers = []
        for _ in range(3):
            here(with_lock)
        here(without_lock); one = numbers[:2]
        assert numbers[0] > 0 and numbers[1] > 0 and numbers[0] != numbers[1], numbers
        assert numbers[:6] == one * 3, numbers
        if take == "frames_stack":
            assert numbers[6] not in one and len(set(numbers)) == 4, numbers  # of another line than in the loop
            in_thread(lambda: here(with_lock))
            in_thread(lambda: here(with_lock))
            assert len(set(numbers)) == 8, numbers


def case_whole_stacks():
    case_stacks("frames_whole_stack")


class AtExit:
    """Without the GIL, there are no frames while the interpreter ends."""
    def __del__(self):
        check(with_lock)


def case_exit():
    """At exit, and in finalizers of modules, while daemon threads go on."""
    def forever():
        while True:
            check(random.choice([with_lock, without_lock]))

    atexit.register(check)
    sys.modules[__name__].kept = AtExit()
    for _ in range(3):
        threading.Thread(target=forever, daemon=True).start()
    time.sleep(0.05)


# --- much of it ---


def case_stress(reads=1000000):
    """Threads, generators, exceptions, recursion, garbage and code that comes and goes. One read of 20 is compared with
    what Python says, the others with the first of them."""
    stop = threading.Event()
    start = compared
    repeated = 19

    def garbage():
        while not stop.is_set():
            cycle = [[] for _ in range(100)]
            cycle.append(cycle)
            gc.collect(0)
            exec(compile("def f(x):\n return [i for i in range(x)]\nf(10)", "<garbage>", "exec"), {})

    def walk(chance, depth):
        kind = chance.randrange(6)
        if depth == 0:
            library = chance.choice([with_lock, without_lock])
            assert library.frames_same(repeated)
            return check(library)
        if kind == 0:
            return walk(chance, depth - 1)
        if kind == 1:
            return next(walk(chance, depth - 1) for _ in range(1))
        if kind == 2:
            try:
                raise ValueError
            except ValueError:
                return walk(chance, depth - 1)
        if kind == 3:
            scope = {"walk": walk, "chance": chance, "depth": depth}
            lines = "\n" * chance.randrange(9)
            exec(compile("%sdef g%d():\n return walk(chance, depth - 1)\nx = g%d()" % (lines, depth, depth),
                         "<made %d>" % chance.randrange(50), "exec"), scope)
            return scope["x"]
        if kind == 4:
            return max([1], key=lambda _: walk(chance, depth - 1) and 1)
        return [walk(chance, depth - 1) for _ in range(1)][0]

    def work(seed):
        chance = random.Random(seed)
        while (compared - start) * (repeated + 1) < reads:
            walk(chance, chance.randrange(8))

    started = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    collector = threading.Thread(target=garbage)
    for thread in started + [collector]:
        thread.start()
    for thread in started:
        thread.join()
    stop.set()
    collector.join()
    print("%d reads, %d of them compared with Python's" % ((compared - start) * (repeated + 1), compared - start))


def case_time():
    """Nanoseconds of a read of 30 frames that were seen before, of as many new ones, and of a stack with its number."""
    def chain(measure):
        """Of a stack of 30 frames, whose innermost is a line that calls MEASURE."""
        count = 30 - len(expected(sys._getframe())) - 1
        source = ["def f%d(): return %s" % (k, "f%d()" % (k - 1) if k else "measure()") for k in range(count)]
        scope = {"measure": measure}
        exec(compile("\n".join(source) + "\nx = f%d()" % (count - 1), "<%d>" % random.randrange(1 << 60), "exec"), scope)
        return scope["x"] / 100

    def seen(function):
        return chain(lambda: min(function(count) for count in 30 * [1000]))

    read = seen(with_lock.frames_measure)
    new = sorted(chain(lambda: with_lock.frames_measure(1)) for _ in range(100))[50]
    with spool():
        stack, whole = seen(with_lock.frames_measure_stack), seen(with_lock.frames_measure_whole_stack)
    print("%s: 30 frames seen before %.0f ns, new %.0f ns, a stack of them %.0f ns, with C code %.0f ns" %
          (sys.version.split()[0], read, new, stack, whole))
    assert read < 1500 and stack < 1500


def main():
    cases = {name[5:]: function for name, function in globals().items() if name.startswith("case_")}
    names = sys.argv[2:] or [name for name in cases if name not in ALONE]
    for name in names:
        word, _, number = name.partition("=")
        before = compared
        cases[word](*[int(number)] if number else [])
        print("%s: %s, %d compared" % (sys.version.split()[0], word, compared - before), flush=True)


if not with_lock.frames_begin():
    sys.exit("refused: %s" % with_lock.frames_refused().decode())
if __name__ == "__main__":
    main()

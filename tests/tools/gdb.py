"""Shows gputrace's structs in gdb as one line each: gdb -x tests/tools/gdb.py build/gputrace

What is left out is printed by print/r.
"""
import gdb


def text(pointer, length):
    length = int(length)
    return repr(pointer.string("utf-8", "replace", length)) if pointer and length else '""'


def number(value):
    return "-" if int(value) == -(1 << 63) else str(int(value))


def word(value, prefix):
    return str(value).replace(prefix, "").lower()


def span(value):
    return f"{int(value['start'])}+{int(value['end']) - int(value['start'])}"


SHOWN = {
    "buffer": lambda v: f"{int(v['length'])} bytes {text(v['data'], min(int(v['length']), 80))}"
    + (f", failed with errno {int(v['failure'])}" if v["failure"] else ""),
    "dense_map": lambda v: f"{int(v['count'])} rows of {int(v['words'])} words",
    "map": lambda v: f"{int(v['pairs']['count'])} keys",
    "interner": lambda v: f"{int(v['count'])} strings",
    "name": lambda v: text(v["text"], v["length"]),
    "row": lambda v: f"pid {int(v['pid'])} tid {int(v['tid'])}",
    "slice": lambda v: f"{word(v['category'], 'CATEGORY_')} {text(v['name']['text'], v['name']['length'])} {span(v)} "
    f"pid {int(v['row']['pid'])} tid {int(v['row']['tid'])}",
    "window": span,
    "event": lambda v: f"{word(v['type'], 'EVENT_')} {span(v)} thread {int(v['thread'])} "
    f"correlation {int(v['correlation'])} device {int(v['device'])}",
    "event_fields": lambda v: f"'{chr(int(v['phase']) or 32)}' "
    f"{word(v['category'].cast(gdb.lookup_type('enum category')), 'CATEGORY_')} name {int(v['name'])} "
    f"{int(v['start'])}+{int(v['duration'])} correlation {number(v['correlation'])} device {number(v['device'])}",
    "timeline_op": lambda v: f"{word(v['category'].cast(gdb.lookup_type('enum category')), 'CATEGORY_')} "
    f"name {int(v['name'])} {span(v)} called {number(v['called'])} stream {int(v['stream'])}",
    "spool_part": lambda v: f"chunk {int(v['sequence'])} of thread {int(v['thread'])}: "
    f"{'CUPTI' if int(v['type']) == 1 else 'agent'}, {int(v['size'])} bytes",
    "finding": lambda v: f"{v['rule']['id'].string()} {int(v['cost'])} ns: {v['text'].string()}",
}


class Printer:
    def __init__(self, value, shown):
        self.value, self.shown = value, shown

    def to_string(self):
        try:
            return self.shown(self.value)
        except gdb.MemoryError:
            return "(not readable)"


def find(value):
    kind = value.type.strip_typedefs()
    shown = SHOWN.get(kind.tag) if kind.code == gdb.TYPE_CODE_STRUCT and kind.tag else None
    return Printer(value, shown) if shown else None


gdb.pretty_printers.append(find)

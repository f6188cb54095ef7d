#!/usr/bin/python3
"""A small training loop in PyTorch, on the CPU, and what PyTorch itself says of its operators.

    pytorch_operators.py train FILE           trains, with the driver of CUDA initialised; FILE gets the operators by
                                              PyTorch's execution graph, which knows what encloses what
    pytorch_operators.py profile FILE         the same with torch.profiler; FILE gets its events
    pytorch_operators.py nested               has operators whose inputs PyTorch cannot give the dimensions of
    pytorch_operators.py lists                has operators with lists as inputs
    pytorch_operators.py inputs TRACE         prints these with their dimensions and types
    pytorch_operators.py compare TRACE GRAPH EVENTS
                                              whether the operators of a trace are those of `train` and of `profile`
"""
import collections
import ctypes
import json
import sys
import threading

WINDOW = "window"


def train():
    import torch
    from torch.profiler import record_function

    def loop(steps):
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        inputs, labels = torch.randn(32, 8), torch.randint(0, 4, (32,))
        for _ in range(steps):
            with record_function("step"):
                with record_function("forward"):
                    loss = torch.nn.functional.cross_entropy(model(inputs), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                torch.cat([inputs, inputs]).sum(dim=[0, 1])

    with record_function(WINDOW):
        loop(3)
        other = threading.Thread(target=loop, args=(2,))
        other.start()
        other.join()


def start():
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    assert ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
    # The first step of PyTorch 2 loads modules, which call operators.
    optimizer = torch.optim.Adam([torch.zeros(1, requires_grad=True)])
    optimizer.zero_grad()
    optimizer.step()


def train_with_graph(path):
    import torch.profiler

    start()
    # PyTorch 2 has another name for it.
    observer = getattr(torch.profiler, "ExecutionTraceObserver", None) or torch.profiler.ExecutionGraphObserver
    observer = observer()
    observer.register_callback(path)
    observer.start()
    train()
    observer.stop()
    observer.unregister_callback()


def profiled(path):
    from torch.profiler import ProfilerActivity, profile

    start()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        train()
    # Before the window the profiler has operators of its own.
    events = sorted(profiler.events(), key=lambda event: event.id)
    first = next(i for i, event in enumerate(events) if event.name == WINDOW)
    # PyTorch 2 has the dimensions of lists in its trace alone.
    profiler.export_chrome_trace(path)
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)  # before PyTorch 2 a list
        dims = {e["args"]["External id"]: e["args"]["Input Dims"]
                for e in (trace if isinstance(trace, list) else trace["traceEvents"]) if e.get("cat") == "cpu_op" and "Input Dims" in e["args"]}
    # In an order of their own: the profiler's is that of its clock, which is not the same on two processors.
    rows = sorted(json.dumps([e.name, e.sequence_nr, e.fwd_thread or 0, dims.get(e.id, e.input_shapes)])
                  for e in events[first:])
    with open(path, "w", encoding="utf-8") as file:
        file.write("[" + ",\n".join(rows) + "]\n")


def nested():
    import torch

    start()
    ones = torch.ones(2, 2)
    print((ones + ones).sum().item())
    both = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(3, 3)])
    print((both + both).size(0), (ones * 2).sum().item())


def lists():
    import torch
    from torch.profiler import record_function

    start()
    tensors = [torch.ones(3, 4), torch.ones(4), torch.ones(())]
    rows, columns = torch.tensor([1]), torch.tensor([2])
    with record_function(WINDOW):
        torch._foreach_neg(tensors)
        torch._foreach_exp(tensors[:1] * 30)
        torch._foreach_log(tensors[:1] * 31)
        torch._foreach_sub(tensors, [1.0, 2, 3])
        torch._foreach_addcmul(tensors, tensors, tensors[:3], value=2)
        tensors[0].sum(dim=[])
        tensors[0].view([1] * 29 + [12])
        tensors[0].view([1] * 30 + [12])
        tensors[0].flip([0, 1])
        torch.ops.aten.index(tensors[0], [rows, columns])
        torch.ops.aten.index(tensors[0], [None, columns])


def show_inputs(path):
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    names = {f"aten::{name}" for name in (
        "_foreach_neg", "_foreach_exp", "_foreach_log", "_foreach_sub", "_foreach_addcmul", "sum", "view", "flip", "index")}
    slices = [e for e in events if e["ph"] == "X" and e["cat"] == "cpu_op" and e["name"] in names]
    end = 0
    for e in sorted(slices, key=lambda e: (e["ts"], -e["dur"])):
        if e["ts"] < end:  # another operator called this one
            continue
        end = e["ts"] + e["dur"]
        print(e["name"].removeprefix("aten::"), *(
            json.dumps(e["args"].get(key, []), separators=(",", ":")) for key in ("Input Dims", "Input type")))


# --- what they say, as counters ---


def numbers(sequence, forward_thread):
    """As Kineto shows them: operators without a sequence number have no thread of the forward pass either."""
    return (sequence, forward_thread) if sequence >= 0 else (-1, 0)


def of_graph(path):
    with open(path, encoding="utf-8") as file:
        nodes = {node["id"]: node for node in json.load(file)["nodes"]}
    for node in nodes.values():
        if "ctrl_deps" in node:  # the form of PyTorch 2
            node.update({attribute["name"]: attribute["value"] for attribute in node["attrs"]}, parent=node["ctrl_deps"])
    counts = collections.Counter()
    first = next(node["id"] for node in nodes.values() if node["name"] == WINDOW)
    for node in nodes.values():
        if node["name"].startswith("[") or node["id"] < first:
            continue
        names, at = [], node
        while at and not at["name"].startswith("["):
            names.append(at["name"])
            at = nodes.get(at["parent"])
        kind = "user_annotation" if node["scope"] == 7 else "cpu_op"
        counts[kind, "/".join(reversed(names)), *numbers(node["seq_id"], node["fw_tid"])] += 1
    return counts


def of_trace(path):
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    slices = [e for e in events if e["ph"] == "X" and e["cat"] in ("cpu_op", "user_annotation")]
    slices.sort(key=lambda e: (e["tid"], e["ts"], -e["dur"]))
    window = next(e for e in slices if e["name"] == WINDOW)
    begin, end = window["ts"], window["ts"] + window["dur"]
    slices = [e for e in slices if begin <= e["ts"] <= end]
    open_slices, paths = [], collections.Counter()
    for e in slices:
        while open_slices and (
            open_slices[-1]["tid"] != e["tid"] or open_slices[-1]["ts"] + open_slices[-1]["dur"] <= e["ts"]
        ):
            open_slices.pop()
        open_slices.append(e)
        path = "/".join(outer["name"] for outer in open_slices)
        paths[e["cat"], path, e["args"].get("Sequence number", -1), e["args"].get("Fwd thread id", 0)] += 1
    return slices, paths


def without_numbers_around(paths):
    counts = collections.Counter()
    for (kind, path, *sequence), count in paths.items():
        around = path.rpartition("/")[2].startswith("autograd::engine::evaluate_function: ")
        counts[kind, path, *((-1, 0) if around else sequence)] += count
    return counts


def fail_unless_equal(what, ours, theirs):
    if ours != theirs:
        sys.exit(f"{what}: only in the trace {list((ours - theirs).items())[:5]}, "
                 f"only PyTorch's {list((theirs - ours).items())[:5]}")


def compare(trace, graph, events):
    slices, paths = of_trace(trace)
    # Of operators around nodes of the backward pass the graph has no numbers; torch.profiler does.
    fail_unless_equal("execution graph", without_numbers_around(paths), of_graph(graph))
    all_threads = len(slices)
    slices = [e for e in slices if e["tid"] == e["pid"]]  # which torch.profiler was started on
    with open(events, encoding="utf-8") as file:
        profile = json.load(file)
    ours = collections.Counter(
        (e["name"], e["args"].get("Sequence number", -1), e["args"].get("Fwd thread id", 0)) for e in slices)
    fail_unless_equal("profiler", ours, collections.Counter((name, *numbers(seq, fwd)) for name, seq, fwd, _ in profile))
    if any("Input Dims" in e["args"] for e in slices):
        ours = collections.Counter((e["name"], json.dumps(e["args"].get("Input Dims", []))) for e in slices)
        theirs = collections.Counter((name, json.dumps(shapes or [])) for name, _, _, shapes in profile)
        fail_unless_equal("shapes", ours, theirs)
        if any(len(e["args"]["Input Dims"]) != len(e["args"]["Input type"]) for e in slices if "Input Dims" in e["args"]):
            sys.exit("an operator has not as many types as dimensions")
        print("shapes")
    print(all_threads, "operators")


if __name__ == "__main__":
    {"train": train_with_graph, "profile": profiled, "nested": nested, "compare": compare, "lists": lists,
     "inputs": show_inputs}[sys.argv[1]](*sys.argv[2:])

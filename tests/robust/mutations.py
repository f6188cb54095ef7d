#!/usr/bin/env python3
"""mutations.py GPUTRACE TRACE.json COUNT SEED: report and convert must agree on damaged traces.

Damages TRACE COUNT times, at random, and has both commands read it. They must accept or refuse it alike, a refusal must
have the same message, and what convert makes of an accepted one must be valid JSON (which Python's reader decides, without
NaN and Infinity). Prints the first disagreement of each sort and fails, or prints how many were accepted.
"""
import json
import pathlib
import random
import subprocess
import sys

WORDS = [b'NaN', b'Infinity', b'tru', b'nul', b'01', b'-', b'+1', b'1.', b'.5', b'1e', b'{', b'}', b'[', b']', b',', b':', b'"', b'\\',
         b'\\ud800', b'\\u00', b'\xff', b'\x00', b'\t', b'0', b'e']


def damage(trace, chance):
    damaged = bytearray(trace)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        at, word = chance.randrange(len(damaged)), chance.choice(WORDS)
        how = chance.randrange(6)
        if how == 0:
            damaged[at] = chance.randrange(256)
        elif how == 1:
            del damaged[at:at + chance.randrange(1, 12)]
        elif how == 2:
            damaged[at:at] = word
        elif how == 3:
            damaged[at:at + len(word)] = word
        elif how == 4:
            start = chance.randrange(len(damaged))
            damaged[at:at] = damaged[start:start + chance.randrange(1, 60)]
        else:  # a value becomes another
            colon = damaged.find(b':', at)
            damaged[colon + 1:colon + 2] = word
    return bytes(damaged)


def refuse_constant(word):
    raise ValueError(word + ' is not JSON')


def find_fault(gputrace):
    """What the commands disagree on, or None, and whether convert accepted the trace."""
    made = pathlib.Path('made.json')
    made.unlink(missing_ok=True)
    convert, report = (subprocess.run([gputrace, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
                       for words in (['convert', '-q', 'damaged.json', made], ['report', '--format=json', 'damaged.json']))
    if convert.returncode not in (0, 1) or convert.returncode != report.returncode:
        return f'convert ends with {convert.returncode}, report with {report.returncode}', False
    if convert.returncode == 1:
        said = [command.stderr.splitlines()[-1:] for command in (convert, report)]
        return (None if said[0] == said[1] else f'the messages differ: {said}'), False
    try:
        json.loads(made.read_bytes().decode(), parse_constant=refuse_constant)
    except ValueError as fault:
        return f'the output is not JSON: {fault}', True
    return None, True


def main():
    gputrace, trace, count, seed = sys.argv[1], pathlib.Path(sys.argv[2]).read_bytes(), int(sys.argv[3]), int(sys.argv[4])
    chance = random.Random(seed)
    accepted = faults = 0
    for number in range(count):
        pathlib.Path('damaged.json').write_bytes(damage(trace, chance))
        fault, is_accepted = find_fault(gputrace)
        accepted += is_accepted
        faults += fault is not None
        if fault and faults <= 5:
            print(f'mutation {number} of seed {seed}: {fault}')
    print(f'{accepted} of {count} were accepted, {faults} faults')
    sys.exit(1 if faults or not 0 < accepted < count else 0)


main()

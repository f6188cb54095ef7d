/*
 * Read by frames.py, in a Python of any version: the frames that agent/python reads, as text. Made a library with the
 * agent's objects, which Python loads as any other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/dispatch/registry.h"
#include "agent/python/frames.h"
#include "agent/spool/stacks.h"
#include "agent/spool/writer.h"
#include "common/clock.h"

#define EXPORT __attribute__((visibility("default")))
#define NAMES_MAX (1u << 21)

static char *names[NAMES_MAX]; /* by number */
static char refused_version[64];
static unsigned recorded;
static bool rejecting;

static bool record(const struct python_frame *frame)
{
    if (frame->number >= NAMES_MAX || rejecting)
        return false;
    if (asprintf(&names[frame->number], "%.*s\t%.*s\t%u", (int)frame->function.length, frame->function.bytes,
                 (int)frame->file.length, frame->file.bytes, frame->line) < 0)
        abort();
    __atomic_add_fetch(&recorded, 1, __ATOMIC_RELAXED);
    return true;
}

static void refused(const char *version)
{
    snprintf(refused_version, sizeof(refused_version), "%s", version);
}

EXPORT int frames_begin(void);
EXPORT int frames_begin(void)
{
    fork_watch_begin();
    python_begin(record, refused);
    return python_find(1);
}

/* Of the first stack of the process, too: that proves the layout. Returns the frames, or -1: they do not fit. */
EXPORT int frames_take(char *out, size_t space);
EXPORT int frames_take(char *out, size_t space)
{
    struct python_stack stack;
    size_t used = 0;
    python_frames(&stack);
    *out = '\0';
    for (unsigned i = 0; i < stack.count; i++) {
        uint64_t number = stack.words[i] & ~PYTHON_WORD;
        if ((stack.words[i] & PYTHON_WORD) != PYTHON_WORD || number >= NAMES_MAX)
            return -2;
        int length = snprintf(out + used, space - used, "%s\n", number && names[number] ? names[number] : "?\t?\t0");
        if (length < 0 || (size_t)length >= space - used)
            return -1;
        used += (size_t)length;
    }
    return (int)stack.count;
}

/* Whether COUNT reads, in which other threads may do anything, are the same. */
EXPORT int frames_same(unsigned count);
EXPORT int frames_same(unsigned count)
{
    struct python_stack first, next;
    python_frames(&first);
    for (unsigned i = 1; i < count; i++) {
        python_frames(&next);
        if (next.count != first.count || memcmp(next.words, first.words, next.count * sizeof(*next.words)) != 0)
            return 0;
    }
    return first.count > 0;
}

/* How many C calls the frames are in, as far as their places say; -1: one does not lie further out than the one
 * before. */
EXPORT int frames_calls(void);
EXPORT int frames_calls(void)
{
    struct python_stack stack;
    int calls = 0;
    uint64_t last = (uint64_t)(uintptr_t)&stack;
    python_frames(&stack);
    for (unsigned i = 0; i < stack.count; i++) {
        if (stack.places[i] < last)
            return -1;
        calls += stack.places[i] != last;
        last = stack.places[i];
    }
    return calls;
}

/* From here on stacks are written into a spool in DIRECTORY, and its records get the numbers. */
EXPORT int frames_open(const char *directory);
EXPORT int frames_open(const char *directory)
{
    return chunks_open(directory, 0);
}

EXPORT unsigned frames_stack(void);
EXPORT unsigned frames_stack(void)
{
    return stacks_record_python();
}

EXPORT unsigned frames_whole_stack(void);
EXPORT unsigned frames_whole_stack(void)
{
    return stacks_record(0);
}

/* The same as frames_measure(), of a stack with its number. */
EXPORT long frames_measure_stack(unsigned count);
EXPORT long frames_measure_stack(unsigned count)
{
    uint64_t start = clock_now();
    for (unsigned i = 0; i < count; i++)
        stacks_record_python();
    return (long)((clock_now() - start) * 100 / count);
}

/* The same of a stack with C code. */
EXPORT long frames_measure_whole_stack(unsigned count);
EXPORT long frames_measure_whole_stack(unsigned count)
{
    uint64_t start = clock_now();
    for (unsigned i = 0; i < count; i++)
        stacks_record(0);
    return (long)((clock_now() - start) * 100 / count);
}

/* Hundredths of a nanosecond for each of COUNT reads. */
EXPORT long frames_measure(unsigned count);
EXPORT long frames_measure(unsigned count)
{
    struct python_stack stack;
    uint64_t start = clock_now();
    for (unsigned i = 0; i < count; i++)
        python_frames(&stack);
    return (long)((clock_now() - start) * 100 / count);
}

EXPORT unsigned frames_recorded(void);
EXPORT unsigned frames_recorded(void)
{
    return recorded;
}

EXPORT void frames_reject(int reject);
EXPORT void frames_reject(int reject)
{
    rejecting = reject;
}

EXPORT void frames_fork_child(void);
EXPORT void frames_fork_child(void)
{
    python_atfork_child();
    fork_watch_announced();
    recorded = 0;
}

EXPORT const char *frames_refused(void);
EXPORT const char *frames_refused(void)
{
    return refused_version;
}

/*
 * Says where CPython keeps what a stack of Python functions is read from: offsets in bytes, by version. They are those
 * of the headers of CPython 3.8 to 3.14 on 64-bit machines; a minor version never changes them. From 3.13 on the
 * interpreter has most of them in a table at the beginning of _PyRuntime, and that is used.
 */
#ifndef GPUTRACE_COMMON_PYTHON_LAYOUT_H
#define GPUTRACE_COMMON_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PYTHON_VERSION(major, minor) ((major) << 8 | (minor))

/* How a thread's innermost frame is found, and what a frame is. */
enum python_frames_kind {
    PYTHON_FRAME_OBJECTS, /* to 3.10: objects, and each is a C call of the evaluation loop */
    PYTHON_C_FRAMES,      /* 3.11: frames of the interpreter's own; the first of each C call is marked */
    PYTHON_SHIM_FRAMES,   /* from 3.12 on: each C call has one more, on the C stack, outside of its others */
};

enum python_lines_kind {
    PYTHON_LNOTAB,    /* to 3.9 */
    PYTHON_LINETABLE, /* 3.10 */
    PYTHON_LOCATIONS, /* from 3.11 on */
};

/* 0: the version has no such thing. */
struct python_layout {
    uint16_t version; /* PYTHON_VERSION() */
    enum python_frames_kind frames;
    enum python_lines_kind lines;
    struct {
        uint64_t interpreters; /* in _PyRuntime: the first */
    } runtime;                 /* from 3.11 on, as the next */
    struct {
        uint64_t next, threads; /* the first state of a thread */
    } interpreter;
    struct {
        uint64_t thread;  /* pthread_self(); from 3.11 on gettid() follows */
        uint64_t c_frame; /* from 3.10 to 3.12 */
        uint64_t frame;   /* in the C frame, where there is one and it has it */
    } state;
    struct {
        uint64_t previous;
    } c_frame;
    struct {
        uint64_t previous, code, instruction, owner, is_entry;
    } frame;
    struct {
        uint64_t first_line, file, name, line_table;
        uint64_t version;  /* a number of no other code; 0 in it: they were used up */
        uint64_t bytecode; /* to 3.10 the offset of an object that has it, later of its first byte */
        uint64_t size;     /* of a code object without its bytecode */
    } code;
    struct {
        uint64_t ascii, compact; /* bytes before the characters of a string, one of ASCII alone or not */
    } text;
};

/* The same in all versions. */
enum {
    PYTHON_TYPE = 8,            /* of an object */
    PYTHON_SIZE = 16,           /* of a variable object: items; of a string: characters */
    PYTHON_TEXT_HASH = 24,      /* -1: not asked for yet */
    PYTHON_TEXT_STATE = 32,     /* bits */
    PYTHON_BYTES = 32,          /* the first byte of a bytes object */
    PYTHON_TYPE_BASICSIZE = 32, /* of a type: bytes of its objects */
    PYTHON_NEXT_STATE = 8,      /* in the state of a thread: that of the next one */
    PYTHON_TRACEABLE = 16, /* before the bytecode, from 3.11 on: instructions that come before the function's own */
};

/* Who owns a frame, from 3.11 on. */
enum { PYTHON_OWNED_BY_GENERATOR = 1, PYTHON_OWNED_BY_C = 3 /* or more: a shim */ };

/* The layout of VERSION, whose _PyRuntime is RUNTIME. Returns false when it is not known, or is of a build that is not
 * read: one without the GIL. */
bool python_layout(struct python_layout *layout, unsigned version, const uint64_t *runtime);

/* --- strings and lines of code objects --- */

/*
 * Reads what code objects of CPython point to: the characters of strings, and the source line of an instruction, from
 * the code object's table of lines, which has one of three formats.
 */

struct python_text {
    unsigned width; /* bytes of a character: 1, 2, 4; 0: it is none of the usual strings */
    bool is_ascii;
};

/* Says where the characters lie of a string with this state (PYTHON_TEXT_STATE). */
struct python_text python_text_of(uint32_t state);

/* Writes COUNT characters as UTF-8, cut to SPACE bytes. Returns the bytes. */
size_t python_text_utf8(char *out, size_t space, const void *characters, uint64_t count, unsigned width);

struct line_table {
    enum python_lines_kind kind;
    const unsigned char *bytes;
    size_t length;
    int first; /* line of the code */
};

/* The line of the instruction at byte OFFSET of the bytecode; FIRST when OFFSET is before it; 0: it has none. */
uint32_t line_at(const struct line_table *table, int64_t offset);

#endif

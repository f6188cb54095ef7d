/*
 * Returns the offsets in bytes of the fields from which a stack of Python functions is read, by version of CPython.
 * They are taken from the headers of CPython 3.8 to 3.14 on 64-bit machines; bug-fix releases never change them. From
 * 3.13 on, most of them are read from a table of the interpreter at the beginning of _PyRuntime.
 */
#ifndef GPUTRACE_COMMON_PYTHON_LAYOUT_H
#define GPUTRACE_COMMON_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PYTHON_VERSION(major, minor) ((major) << 8 | (minor))

/* How a thread's innermost frame is found, and what a frame is. */
enum python_frames_kind {
    PYTHON_FRAME_OBJECTS, /* up to 3.10: objects, each for a C call of the evaluation loop */
    PYTHON_C_FRAMES,      /* 3.11: frames of the interpreter's own; the first of each C call is marked */
    PYTHON_SHIM_FRAMES,   /* from 3.12 on: each C call has one more frame, on the C stack, outside of its others */
};

enum python_lines_kind {
    PYTHON_LNOTAB,    /* up to 3.9 */
    PYTHON_LINETABLE, /* 3.10 */
    PYTHON_LOCATIONS, /* from 3.11 on */
};

/* Offsets that a version does not have are 0. */
struct python_layout {
    uint16_t version; /* PYTHON_VERSION() */
    enum python_frames_kind frames;
    enum python_lines_kind lines;
    struct {
        uint64_t interpreters; /* in _PyRuntime: the first interpreter */
    } runtime;                 /* from 3.11 on, as `interpreter` */
    struct {
        uint64_t next, threads; /* the next interpreter; the first thread state */
    } interpreter;
    struct {
        uint64_t thread;  /* pthread_self(); from 3.11 on gettid() follows */
        uint64_t c_frame; /* from 3.10 to 3.12 */
        uint64_t frame;   /* in 3.11 and 3.12 in the C frame, otherwise in the thread state */
    } state;
    struct {
        uint64_t previous;
    } c_frame;
    struct {
        uint64_t previous, code, instruction, owner, is_entry;
    } frame;
    struct {
        uint64_t first_line, file, name, line_table;
        uint64_t version;  /* a number of this code object alone; 0 there: numbers are used up */
        uint64_t bytecode; /* up to 3.10 of an object with the bytecode, later of its first byte */
        uint64_t size;     /* bytes of a code object without its bytecode */
    } code;
    struct {
        uint64_t ascii, compact; /* bytes before the characters of a string: if it is all ASCII, and if not */
    } text;
};

/* Offsets that are equal in all versions. */
enum {
    PYTHON_TYPE = 8,            /* type of an object */
    PYTHON_SIZE = 16,           /* items of a variable object; characters of a string */
    PYTHON_TEXT_HASH = 24,      /* hash of a string; -1: not computed yet */
    PYTHON_TEXT_STATE = 32,     /* bits of a string */
    PYTHON_BYTES = 32,          /* the first byte of a bytes object */
    PYTHON_TYPE_BASICSIZE = 32, /* in a type: bytes of its objects */
    PYTHON_NEXT_STATE = 8,      /* in a thread state: the next thread state */
    PYTHON_TRACEABLE = 16, /* from 3.11 on, before the bytecode: number of instructions before the function's own */
};

/* Who owns a frame, from 3.11 on. */
enum { PYTHON_OWNED_BY_GENERATOR = 1, PYTHON_OWNED_BY_C = 3 /* 3 or more: a shim */ };

/* Sets LAYOUT for VERSION, whose _PyRuntime is RUNTIME. Returns false if the version is unknown, or the build is not
 * supported: one without the GIL. */
bool python_layout(struct python_layout *layout, unsigned version, const uint64_t *runtime);

/* --- strings and lines of code objects --- */

/*
 * Reads what code objects of CPython point to: the characters of strings, and the source line of an instruction, from
 * the code object's table of lines, which has one of three formats.
 */

struct python_text {
    unsigned width; /* bytes of a character: 1, 2 or 4; 0: not one of the usual strings */
    bool is_ascii;
};

/* Returns the form of a string with this state (PYTHON_TEXT_STATE). */
struct python_text python_text_of(uint32_t state);

/* Writes COUNT characters of WIDTH bytes as UTF-8, cut to SPACE bytes. Returns the bytes written. */
size_t python_text_utf8(char *out, size_t space, const void *characters, uint64_t count, unsigned width);

struct line_table {
    enum python_lines_kind kind;
    const unsigned char *bytes;
    size_t length;
    int first; /* first line of the code object */
};

/* Returns the line of the instruction at byte OFFSET of the bytecode; `first` if OFFSET is below 0, or 0 if there is no
 * line. */
uint32_t line_at(const struct line_table *table, int64_t offset);

#endif

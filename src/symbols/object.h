/*
 * A program or library with its symbols and debugging information, of whichever processes mapped it.
 */
#ifndef GPUTRACE_SYMBOLS_OBJECT_H
#define GPUTRACE_SYMBOLS_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "symbols/symbol_table.h"
#include "trace/frames.h"
#include "trace/names.h"

struct Dwfl;
struct Dwfl_Module;

struct object {
    struct Dwfl *dwfl;
    struct Dwfl_Module *module; /* NULL: nothing can be said about its addresses */
    struct symbol_table symbols;
    bool symbols_read;
    struct map known;                 /* offset in the file -> index + 1 in places */
    ARRAY(struct stack_frame) places; /* their `inlined` is the object's */
};

/* Opens the file at PATH, which had the number INODE when it was mapped; it is not believed when it has another one and
 * came there after SINCE (ns of CLOCK_REALTIME). A file that cannot be used gives an object that names nothing. */
void object_open(struct object *object, const char *path, uint64_t inode, uint64_t since);
void object_close(struct object *object);

/* Sets what is known of the code at OFFSET in the file: function, file, line and inlined calls; texts are put into
 * NAMES. Returns 0, or -1 after error(). */
int object_name(struct object *object, struct names *names, uint64_t offset, struct stack_frame *frame);

#endif

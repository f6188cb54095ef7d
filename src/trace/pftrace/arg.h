/*
 * An argument of an event, as it goes into a .pftrace and comes out of it.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_ARG_H
#define GPUTRACE_TRACE_PFTRACE_ARG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pftrace_arg_kind {
    PFTRACE_ARG_U64,
    PFTRACE_ARG_I64,
    PFTRACE_ARG_REAL,
    PFTRACE_ARG_BOOL,  /* u64: 0 or 1 */
    PFTRACE_ARG_HEX,   /* u64, shown as a text, "0x7f00" */
    PFTRACE_ARG_TEXT,  /* text, length */
    PFTRACE_ARG_JSON,  /* the same: a value of JSON */
    PFTRACE_ARG_SIZE3, /* size3, shown as [x,y,z] */
};

struct pftrace_arg {
    const char *name;
    size_t name_length;
    uint32_t name_number; /* of an event that was read: in the reader's interner */
    enum pftrace_arg_kind kind;
    union {
        uint64_t u64;
        int64_t i64;
        double real;
        int32_t size3[3];
        struct {
            const char *text;
            size_t length;
        };
    };
};

#endif

/*
 * The texts of a .pftrace, which come as numbers of its reader's interner: what each means to the report, found out
 * once, and its number in the records that are made.
 */
#ifndef GPUTRACE_CLI_PFTRACE_TEXTS_H
#define GPUTRACE_CLI_PFTRACE_TEXTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "common/sink.h"
#include "trace/trace_event.h"

/* Of a text where it is the name of a category or of an argument. */
struct pftrace_meaning {
    uint32_t number; /* of the text in the records + 1; 0: none yet */
    bool known;      /* the rest is */
    bool is_from;
    enum event_category category;
    const struct event_field *field; /* NULL: nobody wants it */
};

struct pftrace_texts {
    struct interner strings; /* the reader's */
    struct sink *sink;       /* where records go */
    ARRAY(struct pftrace_meaning) meanings;
    uint32_t count;    /* in the records */
    uint32_t nameless; /* "" in the interner */
    bool failed;       /* no memory: then any number may be given */
    struct pftrace_meaning nothing;
};

void pftrace_texts_release(struct pftrace_texts *texts);

/* Forgets all, the interner's strings too: before all else, and where texts are numbered from 0 again. */
void pftrace_texts_forget(struct pftrace_texts *texts);

/* Of a number of the interner, or PFTRACE_UNKNOWN, which is "". */
const struct pftrace_meaning *pftrace_texts_meaning(struct pftrace_texts *texts, uint32_t number);
/* The number in the records, into which the text is put when it is new there. */
uint32_t pftrace_texts_number(struct pftrace_texts *texts, uint32_t number);
/* The same of any text. */
uint32_t pftrace_texts_passing(struct pftrace_texts *texts, const char *text, size_t length);

#endif

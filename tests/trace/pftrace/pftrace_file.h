/*
 * The events of a file, one after another.
 */
#ifndef GPUTRACE_TESTS_TRACE_PFTRACE_PFTRACE_FILE_H
#define GPUTRACE_TESTS_TRACE_PFTRACE_PFTRACE_FILE_H

#include "trace/pftrace/packets.h"
#include "trace/pftrace/reader.h"

struct pftrace_file {
    struct packets packets;
    struct packets_run run;
    struct pftrace_reader *reader; /* NULL: it is not open */
};

/* Returns whether it could be opened. */
static inline bool pftrace_file_open(struct pftrace_file *file, const char *path, struct interner *strings)
{
    *file = (struct pftrace_file){0};
    if (packets_open(&file->packets, path) == 0)
        file->reader = pftrace_reader_new(strings);
    return file->reader;
}

/* As pftrace_next(), to the file's end. */
static inline int pftrace_file_next(struct pftrace_file *file, const struct pftrace_event **event)
{
    int more;
    while ((more = pftrace_next(file->reader, event)) == 0) {
        if (packets_report_end(&file->packets, &file->run) != 0)
            return -1;
        more = packets_next_run(&file->packets, &file->run);
        if (more <= 0)
            return more;
        pftrace_take(file->reader, &file->run);
    }
    return more;
}

static inline void pftrace_file_close(struct pftrace_file *file)
{
    if (file->reader)
        pftrace_close(file->reader);
    packets_run_release(&file->run);
    packets_close(&file->packets);
    *file = (struct pftrace_file){0};
}

#endif

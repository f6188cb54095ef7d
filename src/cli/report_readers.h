/*
 * What `gputrace report` reads beside traces in JSON: directories that hold spools, and .pftrace, plain or gzip.
 */
#ifndef GPUTRACE_CLI_REPORT_READERS_H
#define GPUTRACE_CLI_REPORT_READERS_H

#include "analysis/report.h"

/* For struct report_options. */
extern const struct report_reader report_readers[];

#endif

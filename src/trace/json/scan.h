/*
 * Finds where a JSON value ends, without reading what is in it: the border of an event. Whether what lies between the
 * borders is JSON, json_check() decides (json/text.h); then cJSON parses the event, once.
 */
#ifndef GPUTRACE_TRACE_JSON_SCAN_H
#define GPUTRACE_TRACE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scan {
    size_t length; /* bytes of the value */
    /* Where the values of an object's own keys "ph", "cat", "ts" and "dur" start; 0: not there. Of two of a name the
     * last counts. */
    size_t ph, cat, ts, dur;
};

/* The value that starts at TEXT[0], which is no white space. False: it does not end within LENGTH bytes. A bare number
 * or word ends only where something else follows. */
bool scan_value(const char *text, size_t length, struct scan *scan);

/* Whether the event at TEXT is one end of a flow that no section looks at. Most flows connect events that have a
 * correlation id too, and are half of a trace's events; PyTorch's "fwdbwd" alone are read. */
bool scan_is_flow(const char *text, const struct scan *scan);

/* Line ends in TEXT. */
uint64_t scan_lines(const char *text, size_t length);

/* Bytes of white space at TEXT. */
size_t scan_blank(const char *text, size_t length);

/* The number at TEXT, in microseconds, as nanoseconds, rounded to the nearest. Exact where a double is not: absolute
 * times of today need more than its 53 bits. False: no plain decimal, or too large for 64 bits. */
bool scan_ns(const char *text, size_t length, int64_t *ns);

#endif

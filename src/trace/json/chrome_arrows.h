/*
 * Arrows in Trace Event JSON, in their two forms: events of their own, or on the slices that they connect.
 */
#ifndef GPUTRACE_TRACE_JSON_CHROME_ARROWS_H
#define GPUTRACE_TRACE_JSON_CHROME_ARROWS_H

struct arrow;
struct writer;

/* Flow events, "s" and "f". */
void chrome_arrow_start(struct writer *writer, const struct arrow *arrow);
void chrome_arrow_end(struct writer *writer, const struct arrow *arrow);

/* On the slice that was written last, with nothing after it, where no arrow is yet and this one has a bind_id. */
void chrome_bind_start(struct writer *writer, const struct arrow *arrow);
void chrome_bind_end(struct writer *writer, const struct arrow *arrow);

#endif

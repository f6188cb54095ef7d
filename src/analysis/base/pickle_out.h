/*
 * Writes values in the format of Python's pickle, protocol 2: dictionaries, lists, tuples of two, texts, integers,
 * numbers, booleans and None. Keys and values follow one another, as items do.
 *
 *     pickle_begin(buffer); pickle_begin_dict(buffer); pickle_text(buffer, "key"); pickle_i64(buffer, 5);
 *     pickle_end_dict(buffer); pickle_end(buffer);
 */
#ifndef GPUTRACE_ANALYSIS_BASE_PICKLE_OUT_H
#define GPUTRACE_ANALYSIS_BASE_PICKLE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

void pickle_begin(struct buffer *out);
void pickle_end(struct buffer *out);

void pickle_begin_dict(struct buffer *out);
void pickle_end_dict(struct buffer *out);
void pickle_begin_list(struct buffer *out);
void pickle_end_list(struct buffer *out);
/* The last two values become a tuple. */
void pickle_pair(struct buffer *out);

/* UTF-8; bytes that are not become U+FFFD. */
void pickle_text(struct buffer *out, const char *text);
void pickle_i64(struct buffer *out, int64_t value);
void pickle_real(struct buffer *out, double value);
void pickle_bool(struct buffer *out, bool value);
void pickle_none(struct buffer *out);

#endif

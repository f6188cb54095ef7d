/*
 * Strings and numbers of JSON, read into the reader's word. For json.c alone.
 */
#ifndef CHECK_TRACE_JSON_TEXT_H
#define CHECK_TRACE_JSON_TEXT_H

#include <stddef.h>

#include "check_trace/json.h"

/* Memory that was asked for, or the end of the program. */
void *json_need(void *memory);

/* The rest of a string whose opening quote was taken, and a number. They give the length of the word. */
size_t json_read_string(struct json_reader *reader);
size_t json_read_number(struct json_reader *reader);

#endif

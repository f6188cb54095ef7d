/*
 * Values of enumerations by their names.
 */
#ifndef GPUTRACE_TRACE_BUILD_PAYLOAD_ENUM_H
#define GPUTRACE_TRACE_BUILD_PAYLOAD_ENUM_H

#include <stdint.h>

#include "trace/build/payload_schemas.h"

struct json_out;

/* Writes the value of SIZE bytes: the name it has, else the names of its bits, else the number. */
void payload_put_enum(struct json_out *json, const struct payload_described *schema, const uint8_t *bytes,
                      uint64_t size);

#endif

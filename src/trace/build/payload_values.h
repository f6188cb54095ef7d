/*
 * Values of NVTX's types, from bytes: as numbers, as texts, as JSON.
 */
#ifndef GPUTRACE_TRACE_BUILD_PAYLOAD_VALUES_H
#define GPUTRACE_TRACE_BUILD_PAYLOAD_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/payload.h"

struct json_out;
struct buffer;

struct payload_number {
    enum { PAYLOAD_NUMBER_SIGNED, PAYLOAD_NUMBER_UNSIGNED, PAYLOAD_NUMBER_REAL } kind;
    union {
        int64_t i64;
        uint64_t u64;
        double real;
    };
};

/* The number of a TYPE of NVTX's at BYTES, which has as many as the type. False: the type is no number, or none that
 * 64 bits hold. */
bool payload_number(struct payload_number *number, uint64_t type, const uint8_t *bytes);
double payload_number_real(const struct payload_number *number);
void payload_put_number(struct json_out *json, const struct payload_number *number);

/* COUNT characters of a string or character type, as UTF-8; what stands after a zero is left out. */
void payload_put_characters(struct json_out *json, uint64_t type, const uint8_t *bytes, uint64_t count);

/* Bytes as hexadecimal digits, a long row of them cut. */
void payload_put_bytes(struct json_out *json, const uint8_t *bytes, uint64_t count);

/* "0x7f00" */
void payload_put_hex(struct json_out *json, uint64_t value);

/* 128 bits as a text of decimal digits. */
void payload_put_wide(struct json_out *json, const uint8_t *bytes, bool is_signed);

#endif

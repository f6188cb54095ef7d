/*
 * Members of the objects of a trace's metadata, of which nothing is believed.
 */
#ifndef GPUTRACE_ANALYSIS_METADATA_H
#define GPUTRACE_ANALYSIS_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "trace/event_fields.h"

/* A number from 0 on; EVENT_NONE: there is none of this key. */
static inline int64_t metadata_number(const cJSON *object, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    bool fits = cJSON_IsNumber(value) && value->valuedouble >= 0 && value->valuedouble < 9e18;
    return fits ? (int64_t)value->valuedouble : EVENT_NONE;
}

/* OBJECT's own; NULL: there is none of this key. */
static inline const char *metadata_text(const cJSON *object, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(value) ? value->valuestring : NULL;
}

#endif

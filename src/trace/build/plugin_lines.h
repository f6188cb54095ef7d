/* What plugins report at the end: lines for the user, and their part of the metadata. */
#ifndef GPUTRACE_TRACE_BUILD_PLUGIN_LINES_H
#define GPUTRACE_TRACE_BUILD_PLUGIN_LINES_H

#include "trace/build/conversion.h"

struct conversion;
struct json_out;

/* plugin_lines.c: fills conversion.plugins. Returns 0, or -1 after error(). */
int gather_plugins(struct conversion *conversion);
/* metadata_plugins.c: an array. */
void put_plugins(const struct convert_plugins *plugins, struct json_out *json);

#endif

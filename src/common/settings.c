#include "common/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"

static const struct settings defaults = {
    .trace = TRACE_DEFAULT,
    .graph_nodes = 1,
    .flush_interval_ms = 200,
    .verbose = LOG_NORMAL,
};

static int64_t number(const char *variable, int64_t otherwise)
{
    const char *text = getenv(variable);
    if (!text || !*text)
        return otherwise;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    return errno || *end ? otherwise : value;
}

void settings_init(struct settings *settings)
{
    *settings = defaults;
}

void settings_read(struct settings *settings)
{
    *settings = defaults;
#define READ(field, variable) settings->field = getenv(variable);
    SETTINGS_TEXTS(READ)
#undef READ
#define READ(field, variable) settings->field = number(variable, defaults.field);
    SETTINGS_NUMBERS(READ)
#undef READ
}

static int export_text(const char *variable, const char *text)
{
    return text ? setenv(variable, text, 1) : unsetenv(variable);
}

static int export_number(const char *variable, int64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRId64, value);
    return setenv(variable, text, 1);
}

int settings_export(const struct settings *settings)
{
    int failed = 0;
#define WRITE(field, variable) failed |= export_text(variable, settings->field);
    SETTINGS_TEXTS(WRITE)
#undef WRITE
#define WRITE(field, variable) failed |= export_number(variable, settings->field);
    SETTINGS_NUMBERS(WRITE)
#undef WRITE
    return failed ? -1 : 0;
}

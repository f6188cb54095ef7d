#include "core/config.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct config settings;

static uint64_t config_number(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    if (!text || !*text)
        return otherwise;
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 0);
    if (errno || *end || *text == '-') {
        fprintf(stderr, "simgpu: %s is '%s', which is not a number: ignored\n", variable, text);
        return otherwise;
    }
    return value;
}

static void config_read(void)
{
#define X(field, variable, value) settings.field = config_number(variable, value);
    CONFIG_SETTINGS(X)
#undef X
    if (settings.devices < 1)
        settings.devices = 1;
    if (settings.devices > 8)
        settings.devices = 8;
}

const struct config *config(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, config_read);
    return &settings;
}

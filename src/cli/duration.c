#include "cli/duration.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"

#define SECONDS_MAX 1e9 /* thirty years, and far from overflow in ns */

static const struct {
    const char *word;
    uint64_t ns;
} units[] = {{"", NS_PER_S}, {"s", NS_PER_S}, {"ms", NS_PER_MS}, {"us", NS_PER_US}, {"ns", 1}};

int duration_parse(const char *option, const char *value, uint64_t *ns)
{
    char *end;
    double number = strtod(value, &end);
    for (size_t i = 0; i < sizeof(units) / sizeof(*units) && end != value; i++) {
        double wanted = number * (double)units[i].ns;
        if (strcmp(end, units[i].word) != 0 || !(wanted >= 0 && wanted <= SECONDS_MAX * (double)NS_PER_S))
            continue;
        *ns = (uint64_t)llround(wanted);
        return 0;
    }
    return error("--%s: '%s' is not a time (try 2, 0.5 or 300ms)", option, value);
}

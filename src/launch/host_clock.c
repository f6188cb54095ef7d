/* Reads adjtimex(2) and writes what it says as JSON. */
#include "launch/host_clock.h"

#include "common/json_out.h"

#define FREQUENCY_UNIT 65536.0 /* of timex.freq: so many are one in a million */

struct host_clock host_clock_of(int state, const struct timex *status)
{
    if (state < 0)
        return (struct host_clock){.known = false};
    return (struct host_clock){.known = true,
                               .synchronised = state != TIME_ERROR && !(status->status & STA_UNSYNC),
                               .error_us = status->maxerror,
                               .estimated_error_us = status->esterror,
                               .frequency_ppm = (double)status->freq / FREQUENCY_UNIT};
}

struct host_clock host_clock_read(void)
{
    struct timex status = {.modes = 0};
    int state = adjtimex(&status);
    return host_clock_of(state, &status);
}

void host_clock_put(const struct host_clock *clock, struct json_out *json)
{
    if (!clock->known)
        return;
    json_key_object(json, "clock");
    json_key(json, "synchronised");
    json_bool(json, clock->synchronised);
    json_put_i64(json, "error_us", clock->error_us);
    json_put_i64(json, "estimated_error_us", clock->estimated_error_us);
    json_key(json, "frequency_ppm");
    json_double(json, clock->frequency_ppm, 3);
    json_end(json);
}

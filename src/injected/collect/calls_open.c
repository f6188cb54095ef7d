#include "injected/collect/calls_open.h"

#include <stddef.h>

#include "base/clock.h"

/* Calls within calls that both have callbacks are rare. One whose callback was switched off while it went on never
 * returns here: it is overwritten in the end. */
#define DEPTH 4u

static __thread struct {
    unsigned next;
    struct open_call calls[DEPTH];
} open_calls;

static struct open_call *at(unsigned index)
{
    return &open_calls.calls[index % DEPTH];
}

struct open_call *open_call_push(const struct driver_call *row, const void *params, uint32_t correlation)
{
    struct open_call *call = at(open_calls.next++);
    *call = (struct open_call){.row = row, .params = params, .start = clock_now(), .correlation = correlation};
    return call;
}

struct open_call open_call_pop(const struct driver_call *row, uint32_t correlation)
{
    for (unsigned back = 1; back <= DEPTH; back++) {
        struct open_call *call = at(open_calls.next - back);
        if (call->row != row || call->correlation != correlation)
            continue;
        struct open_call popped = *call;
        call->row = NULL;
        open_calls.next -= back;
        return popped;
    }
    return (struct open_call){0};
}

struct open_call *open_call_current(void)
{
    struct open_call *call = at(open_calls.next - 1);
    return call->row ? call : NULL;
}

#include "agent/nvtx/counter_schemas.h"

#include <stdbool.h>
#include <stdlib.h>

#include "agent/dispatch/fork_watch.h"

#define BUCKETS 256u

struct known {
    uint64_t counter, schema;
    uint32_t domain;
    struct known *next;
};

/* Only ever added to: read without a lock. */
static struct known *buckets[BUCKETS];

static struct known **bucket_of(uint32_t domain, uint64_t counter)
{
    return &buckets[(counter ^ domain * 31u) % BUCKETS];
}

void nvtx_counter_schema_put(uint32_t domain, uint64_t counter, uint64_t schema)
{
    struct known **bucket = bucket_of(domain, counter), *known = fork_unannounced() ? NULL : malloc(sizeof(*known));
    if (!known)
        return;
    *known = (struct known){.counter = counter, .schema = schema, .domain = domain};
    known->next = __atomic_load_n(bucket, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(bucket, &known->next, known, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

uint64_t nvtx_counter_schema(uint32_t domain, uint64_t counter)
{
    const struct known *known = __atomic_load_n(bucket_of(domain, counter), __ATOMIC_ACQUIRE);
    while (known && (known->counter != counter || known->domain != domain))
        known = known->next;
    return known ? known->schema : 0;
}

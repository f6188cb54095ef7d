#include "agent/torch/operators.h"

#include <string.h>

#include "agent/spool/recorder.h"
#include "common/clock.h"
#include "common/map.h"

/*
 * Which texts were written: a table that only grows, so that it needs no lock. A text is known by 64 bits of a good
 * hash. A place is taken by its hash, and its number stands there once the text is in the spool. Texts for which there
 * is no place, and those that another thread is just writing, are written each time.
 */
#define PLACES (UINT32_C(1) << 14) /* a power of two */
#define PROBES 16

static struct place {
    uint64_t hash; /* 0: free */
    uint32_t number;
} places[PLACES];

static uint32_t last_number;

static uint32_t write_text(uint16_t what, const char *text, size_t length)
{
    uint32_t number = __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
    record_write_text(SPOOL_RECORD_TORCH_TEXT, torch_text, clock_now(), text_of_bytes(text, length), .head.flags = what,
                      .number = number);
    return number;
}

uint32_t operator_text(uint16_t what, const char *text, size_t length)
{
    uint64_t hash = hash_bytes(text, length) + what;
    for (uint32_t i = 0; i < PROBES; i++) {
        struct place *place = &places[(hash + i) % PLACES];
        uint64_t known = __atomic_load_n(&place->hash, __ATOMIC_RELAXED);
        if (known == 0 &&
            __atomic_compare_exchange_n(&place->hash, &known, hash, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            uint32_t number = write_text(what, text, length);
            __atomic_store_n(&place->number, number, __ATOMIC_RELAXED);
            return number;
        }
        if (known != hash)
            continue;
        uint32_t number = __atomic_load_n(&place->number, __ATOMIC_RELAXED);
        return number ? number : write_text(what, text, length);
    }
    return write_text(what, text, length);
}

void operator_texts_atfork_child(void)
{
    memset(places, 0, last_number ? sizeof(places) : 0);
    last_number = 0;
}

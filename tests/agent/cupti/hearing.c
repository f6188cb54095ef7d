#include "tests/agent/cupti/hearing.h"

#include "agent/cupti/calls_code.h"
#include "agent/cupti/driver_calls.h"

#define HEARD_MAX 16

#define KIND(name) struct gputrace_##name name;
static struct {
    enum registry_kind kind;
    union {
        struct gputrace_call call;
        REGISTRY_KINDS(KIND)
    } what;
} all[HEARD_MAX];
#undef KIND
static unsigned count;
static bool covered[CUPTI_DRIVER_TRACE_CBID_SIZE];

#define KIND(name)                                                       \
    static void hear_##name(void *data, const struct gputrace_##name *w) \
    {                                                                    \
        (void)data;                                                      \
        assert_true(count < HEARD_MAX);                                  \
        all[count].kind = REGISTRY_##name;                               \
        memset(&all[count].what, 0, sizeof(all[count].what));            \
        all[count++].what.name = *w;                                     \
    }
REGISTRY_KINDS(KIND)
#undef KIND

int hearing_start(void **state)
{
    (void)state;
    char why[256];
    int failed = 0;
#define KIND(name) failed |= registry_##name##_register(hear_##name, NULL);
    REGISTRY_KINDS(KIND)
#undef KIND
    return failed | cupti_callbacks_init(&fake_cupti, why, sizeof(why));
}

void hearing_clear(void)
{
    count = 0;
}

static bool is_of_phases(enum registry_kind kind)
{
    return ((UINT64_C(1) << kind) & PHASE_KINDS) != 0;
}

unsigned heard(enum registry_kind kind)
{
    unsigned found = 0;
    for (unsigned i = 0; i < count; i++)
        found += all[i].kind == kind;
    return found;
}

const void *heard_what(enum registry_kind kind, unsigned index)
{
    for (unsigned i = 0; i < count; i++)
        if (all[i].kind == kind && index-- == 0)
            return &all[i].what;
    fail_msg("kind %d was not heard so often", (int)kind);
    return NULL;
}

unsigned heard_in_all(void)
{
    unsigned found = 0;
    for (unsigned i = 0; i < count; i++)
        found += !is_of_phases(all[i].kind) && all[i].kind != REGISTRY_open_call;
    return found;
}

static void check_call(const struct gputrace_call *call, const char *function, CUresult result)
{
    assert_string_equal(call->function, function);
    assert_int_equal(call->result, result);
    assert_true(call->start > 0 && call->start <= call->end);
    assert_int_equal(call->thread, gettid());
    assert_true(call->correlation > 0);
    assert_ptr_equal(call->context, FAKE_CONTEXT);
    assert_int_equal(call->context_id, FAKE_CONTEXT_ID);
    assert_true(call->device == FAKE_DEVICE || call->device == GPUTRACE_NO_DEVICE);
}

void make_call(CUpti_CallbackId cbid, const void *params, CUresult result)
{
    hearing_clear();
    covered[cbid] = true;
    fake_call(cbid, params, result);
}

const void *hear_call(const char *function, CUpti_CallbackId cbid, const void *params, CUresult result,
                      enum registry_kind kind)
{
    make_call(cbid, params, result);
    if (heard_in_all() != 1)
        fail_msg("%s was reported %u times", function, heard_in_all());
    const void *what = heard_what(kind, 0);
    check_call(what, function, result);
    return what;
}

static void check_covered(const struct driver_call *row)
{
    if (!covered[row->cbid])
        fail_msg("%s was not tested", row->name);
}

void hearing_covers(const struct driver_calls *group, uint64_t kinds)
{
    for (size_t i = 0; i < group->count; i++)
        if (group->rows[i].kinds & kinds)
            check_covered(&group->rows[i]);
}

void hearing_covers_only(const struct driver_calls *group, uint64_t kinds)
{
    for (size_t i = 0; i < group->count; i++)
        if (group->rows[i].kinds == kinds)
            check_covered(&group->rows[i]);
}

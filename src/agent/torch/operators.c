/*
 * The callbacks that PyTorch runs at the start and end of each operator. They run millions of times, so they touch as
 * few cache lines as possible. Each text is written once and then recognised by its hash. Times are computed from the
 * processor's time stamp counter, whose rate is measured against the system's clock.
 */
#include "agent/torch/operators.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "agent/dispatch/registry.h"
#include "agent/spool/process.h"
#include "agent/spool/recorder.h"
#include "agent/spool/writer.h"
#include "agent/torch/libtorch.h"
#include "common/clock.h"
#include "common/map.h"
#include "common/memory.h"
#include "common/settings.h"

#define INLINE static inline __attribute__((always_inline))
#define SELDOM __attribute__((cold, noinline)) /* places a function apart from the code of every operator */
#define LINES __attribute__((aligned(64)))     /* starts at a cache line */

/* --- texts --- */

/*
 * The texts that were written: a table that only grows, so that it needs no lock. A text is recognised by 49 bits of a
 * good hash: 9 choose its place in each page, and 40 are stored there. If the table is full, two of its texts have
 * equal 49 bits once in four million programs. Pages fill from the first on, because a page of memory that was not used
 * for a while takes long to read. A word of the table is taken by storing the hash bits, and the text's number is added
 * once the text is in the spool. Texts that find no free word, and texts that another thread is just writing, are
 * written each time.
 */
#define PAGES 32
#define PAGE_TEXTS 512 /* words of 8 bytes: a page of memory */
#define NUMBER_MOST ((UINT64_C(1) << 24) - 1)

static uint64_t known_texts[PAGES * PAGE_TEXTS] __attribute__((aligned(4096))); /* 0: free word */

static uint32_t last_number;

static uint32_t write_text(uint16_t what, const char *text, size_t length)
{
    uint32_t number = __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
    record_write_text(SPOOL_RECORD_TORCH_TEXT, torch_text, clock_now(), text_of_bytes(text, length), .head.flags = what,
                      .number = number);
    return number;
}

/* Returns the text's place in the first page; its place in every other page has the same offset. */
static uint64_t *first_place_of(uint64_t hash)
{
    return &known_texts[hash % PAGE_TEXTS];
}

static uint32_t number_of(uint64_t hash, uint16_t what, const char *text, size_t length)
{
    uint64_t mark = hash & ~NUMBER_MOST ?: NUMBER_MOST + 1; /* hash bits stored beside the text's number */
    uint64_t *place = first_place_of(hash);
    for (unsigned page = 0; page < PAGES; page++, place += PAGE_TEXTS) {
        uint64_t known = __atomic_load_n(place, __ATOMIC_RELAXED);
        if (known == 0 && __atomic_compare_exchange_n(place, &known, mark, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            uint32_t number = write_text(what, text, length);
            __atomic_store_n(place, mark | (number <= NUMBER_MOST ? number : 0), __ATOMIC_RELAXED);
            return number;
        }
        if ((known & ~NUMBER_MOST) != mark)
            continue;
        uint32_t number = (uint32_t)(known & NUMBER_MOST);
        return number ? number : write_text(what, text, length);
    }
    return write_text(what, text, length);
}

uint32_t operator_text(uint16_t what, const char *text, size_t length)
{
    return number_of(hash_bytes(text, length) + what, what, text, length);
}

/*
 * --- an operator begins and ends ---
 *
 * Between two operators PyTorch runs so much other code that little of this is still in the processor's first cache. So
 * the cost is the number of cache lines touched, of code and of data.
 */

INLINE uint64_t mix(uint64_t hash, uint64_t word)
{
    unsigned __int128 product =
        (unsigned __int128)(hash ^ word ^ UINT64_C(0xd1b54a32d192ed03)) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Returns the hash of a name. The name is read in aligned words; the last word may reach beyond the name's end. */
INLINE uint64_t hash_of_name(const char *name)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7;
    typedef uint64_t __attribute__((may_alias)) word_of_text;
    if ((uintptr_t)name % sizeof(uint64_t) == 0) {
        const word_of_text *at = (const word_of_text *)name;
        uint64_t hash = 0, zeros;
        do {
            zeros = (*at - ones) & ~*at & highs; /* the lowest set bit is in the first zero byte */
            hash = mix(hash, *at++ & (zeros ^ (zeros - 1)));
        } while (zeros == 0);
        return hash;
    }
#endif
    return hash_bytes(name, strlen(name));
}

SELDOM static uint32_t find_name(uint64_t hash, const char *name)
{
    return number_of(hash, SPOOL_OPERATOR_NAME, name, strlen(name));
}

INLINE uint32_t number_of_name(uint64_t hash, const char *name)
{
    uint64_t known = __atomic_load_n(first_place_of(hash), __ATOMIC_RELAXED);
    uint32_t number = (uint32_t)(known & NUMBER_MOST);
    return number && ((known ^ hash) & ~NUMBER_MOST) == 0 ? number : find_name(hash, name);
}

/* Members that every operator needs come first, in one cache line. */
static struct {
    bool inputs_wanted, wanted;
    struct torch_library library;
    uint64_t libraries; /* counter of loaded libraries at the last search */
    bool settled;       /* callbacks are registered, or PyTorch is not usable */
    uint32_t taken;     /* 1 while a thread is searching */
} torch __attribute__((aligned(64)));

/* Returns an operator's number, from the address of its record, which is unique while the operator is open. */
INLINE uint32_t self_of(const struct torch_function *function)
{
    return (uint32_t)((uintptr_t)function >> 3);
}

#define ASK_EVERY 16 /* at one of so many operators, PyTorch is asked about torch.profiler */

#define LEAST_MEASURED (100 * NS_PER_MS)
/* A reading of the clock that takes more counts was interrupted: 500 at the rate of x86-64's counter. Where counts are
 * longer, 250 ns and the two counts that are cut off at its ends. */
#define READ_TOGETHER (machine_counter_rate() ? machine_counter_rate() / 4000000 + 2 : 500)
#define COUNT_NS_MOST 128 /* of a counter that can be used */

static struct {
    uint32_t taken;       /* 1 while a thread measures */
    bool usable;          /* the kernel's clock uses the counter */
    uint64_t rate;        /* measured rate, once two successive measurements agree; 0: unknown */
    uint64_t measured;    /* rate of the last measurement */
    uint64_t count, time; /* start of the current measurement */
} counter;

static __thread struct operators_thread {
    struct writer *writer; /* of this thread */
    uint32_t ready;        /* 1 + fork generation in which the thread was made ready; 0: not ready */
    uint32_t begun;        /* number of operators begun */
    struct ticks ticks;
} this_thread;

/* Prepares a thread for its first operator in this process. Returns false if nothing is recorded. */
SELDOM static bool make_ready(struct operators_thread *mine)
{
    if (!recorder_has_process() || !recorder_is_on())
        return false;
    mine->writer = writer_mine();
    mine->ready = fork_generation() + 1;
    record_write(SPOOL_RECORD_TORCH_THREAD, torch_thread, clock_now(),
                 .number = (uint32_t)torch.library.current_thread());
    return true;
}

/* Returns this thread's data, or NULL if nothing is recorded. Finding a thread-local variable takes a call, so all data
 * for operators is in one variable. */
INLINE struct operators_thread *find_thread(void)
{
    struct operators_thread *mine = &this_thread;
    __asm__("" : "+r"(mine)); /* without this, compilers find the variable again at every use */
    if (mine->ready != fork_generation() + 1)
        return make_ready(mine) ? mine : NULL;
    return recorder_is_on() ? mine : NULL;
}

INLINE uint64_t sequence_of(const struct torch_function *function, enum torch_scope scope, const char *name)
{
    struct torch_details details;
    if (!torch_layout_read(&torch.library, function, scope, name, &details)) {
        torch_layout_report_refusal();
        return 0;
    }
    uint64_t most = (UINT64_C(1) << SPOOL_OPERATOR_SEQUENCE_BITS) - 1;
    uint64_t sequence = (uint64_t)(details.sequence + 1);
    return sequence > most ? 0 : details.forward_in << SPOOL_OPERATOR_SEQUENCE_BITS | sequence;
}

/* Records the start of an operator of any kind. There is only one such function, so that it stays in the caches. */
static LINES __attribute__((noinline)) void **started(void **observer, const struct torch_function *function,
                                                      enum torch_scope scope, enum spool_operator_scope kind)
{
    *observer = NULL;
    struct operators_thread *mine = find_thread();
    if (!mine)
        return observer;
    __builtin_prefetch(mine->writer->next, 1);
    const char *name = torch.library.name(function);
    if (!name)
        name = "";
    uint64_t hash = hash_of_name(name);
    __builtin_prefetch(first_place_of(hash));
    if (mine->begun++ % ASK_EVERY == 0)
        torch_profiler_ask();
    uint64_t sequence = sequence_of(function, scope, name), time = ticks_now(&mine->ticks);
    record_write_in(mine->writer, SPOOL_RECORD_TORCH_START, torch_start, time, .head.flags = (uint16_t)kind,
                    .name = number_of_name(hash, name), .self = self_of(function), .sequence = sequence);
    if (torch.inputs_wanted)
        operator_inputs_record(&torch.library, function, self_of(function));
    return observer;
}

static LINES void ended(const struct torch_function *function, void *observer)
{
    (void)observer;
    struct operators_thread *mine = find_thread();
    if (mine)
        record_write_in(mine->writer, SPOOL_RECORD_TORCH_END, torch_end, ticks_now(&mine->ticks),
                        .self = self_of(function));
}

/* Defines a callback for each kind, so that the kind is a constant. A C++ function that returns a class gets the address
 * for it before its arguments on x86-64, but in a register of its own (x8) on aarch64. */
#if defined(__aarch64__)
#define STARTED(kind, KIND)                                                                                       \
    __attribute__((used)) static void **kind##_started_at(void **observer, const struct torch_function *function) \
    {                                                                                                             \
        return started(observer, function, TORCH_SCOPE_##KIND, SPOOL_OPERATOR_##KIND);                            \
    }                                                                                                             \
    torch_start_fn kind##_started __attribute__((visibility("hidden")));                                          \
    __asm__(".pushsection .text\n.hidden " #kind "_started\n.globl " #kind "_started\n.type " #kind               \
            "_started, %function\n" #kind "_started: .cfi_startproc\nmov x1, x0\nmov x0, x8\nb " #kind            \
            "_started_at\n.cfi_endproc\n.size " #kind "_started, . - " #kind "_started\n.popsection\n");
#else
#define STARTED(kind, KIND)                                                              \
    static void **kind##_started(void **observer, const struct torch_function *function) \
    {                                                                                    \
        return started(observer, function, TORCH_SCOPE_##KIND, SPOOL_OPERATOR_##KIND);   \
    }
#endif
STARTED(function, FUNCTION)
STARTED(backward, BACKWARD)
STARTED(user, USER)

/* --- registering --- */

static void add(torch_start_fn *start, const bool scopes[TORCH_SCOPE_COUNT])
{
    struct torch_callback callback = {
        .start = start, .end = ended, .sampling_probability = 1, .needs_inputs = torch.inputs_wanted};
    memcpy(callback.scopes, scopes, sizeof(callback.scopes));
    torch.library.add_callback(callback);
}

static void find_and_register(void)
{
    char why[1024];
    uint64_t libraries = library_changes();
    if (libraries == torch.libraries)
        return;
    torch.libraries = libraries;
    int found = torch_library_find(&torch.library, why, sizeof(why));
    __atomic_store_n(&torch.settled, found != 0, __ATOMIC_RELAXED);
    if (found < 0)
        recorder_warn("PyTorch's operators are not recorded: %s", why);
    if (found <= 0)
        return;
    if (torch.inputs_wanted && !torch.library.input_sizes) {
        torch.inputs_wanted = false;
        recorder_note(SPOOL_NOTE_WARNING, "PyTorch's operators are recorded without their inputs: its library has no "
                                          "functions that give these");
    }
    torch_profiler_find();
    bool rest[TORCH_SCOPE_COUNT];
    memset(rest, true, sizeof(rest));
    rest[TORCH_SCOPE_BACKWARD] = rest[TORCH_SCOPE_USER] = false;
    add(backward_started, (const bool[TORCH_SCOPE_COUNT]){[TORCH_SCOPE_BACKWARD] = true});
    add(user_started, (const bool[TORCH_SCOPE_COUNT]){[TORCH_SCOPE_USER] = true});
    add(function_started, rest);
}

void operators_find(void)
{
    int saved = errno;
    if (!torch.wanted || __atomic_load_n(&torch.settled, __ATOMIC_RELAXED) ||
        __atomic_exchange_n(&torch.taken, 1, __ATOMIC_ACQUIRE) != 0)
        return;
    if (!torch.settled)
        find_and_register();
    __atomic_store_n(&torch.taken, 0, __ATOMIC_RELEASE);
    errno = saved;
}

void operators_init(uint64_t trace_bits)
{
    torch.wanted = (trace_bits & TRACE_OF_TORCH) != 0;
    torch.inputs_wanted = (trace_bits & TRACE_TORCH_SHAPES) != 0;
    if (torch.wanted)
        ticks_init();
}

void operators_atfork_child(void)
{
    torch.taken = 0;
    counter.taken = 0; /* another thread may have been measuring at the fork */
    memset(known_texts, 0, last_number ? sizeof(known_texts) : 0);
    last_number = 0;
}

/* --- the time of operators --- */

/* Whether the kernel's clock is the counter, in steps that are equal on all processors. */
static bool kernel_uses_counter(void)
{
    static const char *const sources[] = {"tsc\n", "kvm-clock\n", "hyperv_clocksource_tsc_page\n",
                                          "arch_sys_counter\n"};
    char source[64];
    int saved = errno;
    process_read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof(source));
    errno = saved;
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
        if (machine_counter() != 0 && strcmp(source, sources[i]) == 0)
            return true;
    return false;
}

void ticks_init(void)
{
    counter.usable = kernel_uses_counter();
    counter.time = clock_now();
    counter.count = machine_counter();
}

/* Measures the rate from the last measurement to COUNT at TIME. The system's clock may be set meanwhile: then two
 * measurements differ, and none is trusted. */
static void measure(uint64_t count, uint64_t time)
{
    if (__atomic_exchange_n(&counter.taken, 1, __ATOMIC_ACQUIRE) != 0)
        return;
    if (time - counter.time >= LEAST_MEASURED) {
        double ns = (double)(int64_t)(time - counter.time), counts = (double)(count - counter.count);
        uint64_t rate = ns > 0 && ns < counts * COUNT_NS_MOST ? (uint64_t)(ns / counts * 0x1p32) : 0;
        uint64_t before = counter.measured, difference = rate > before ? rate - before : before - rate;
        __atomic_store_n(&counter.rate, difference <= before / 1000 ? rate : 0, __ATOMIC_RELAXED);
        counter.measured = rate;
        counter.count = count;
        __atomic_store_n(&counter.time, time, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&counter.taken, 0, __ATOMIC_RELEASE);
}

uint64_t ticks_renew(struct ticks *ticks)
{
    if (!counter.usable)
        return clock_now();
    uint64_t before = machine_counter(), time = clock_now(), took = machine_counter() - before;
    uint64_t latest = ticks->time + ticks_ns(ticks->valid, ticks->rate); /* not before the last returned time */
    if (time < latest && latest - time < NS_PER_US)
        time = latest;
    *ticks = (struct ticks){.time = time};
    if (took > READ_TOGETHER)
        return time;
    uint64_t count = before + took / 2;
    if (time - __atomic_load_n(&counter.time, __ATOMIC_RELAXED) >= LEAST_MEASURED)
        measure(count, time);
    uint64_t rate = __atomic_load_n(&counter.rate, __ATOMIC_RELAXED);
    if (rate != 0)
        *ticks = (struct ticks){.count = count, .time = time, .valid = (NS_PER_MS << 32) / rate, .rate = rate};
    return time;
}

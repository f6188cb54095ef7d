/*
 * The handler of fatal signals: saves names of kernels, the signal and the stack in the spool, and then lets the signal
 * take its default action. The tool unwinds the stack later (symbols/symbols.c), because unwinding is not safe in a
 * signal handler. The handler also gets SIGBUS for pages of the spool that were lost, and the SIGSEGV of strict
 * seccomp, which forbids the processor's clock. Everything here must be async-signal-safe.
 */
#include "agent/main/crash_handler.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "agent/cupti/activity_buffers.h"
#include "agent/cupti/kernel_names.h"
#include "agent/dispatch/registry.h"
#include "agent/python/frames.h"
#include "agent/spool/recorder.h"
#include "agent/spool/writer.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/machine.h"
#include "common/memory.h"

static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};

#define CRASH_NAMES_MAX 4096u /* maximum of names for one crash, a power of two */
#define FRAME_BYTES_MAX 4096  /* of the handler itself, to what the kernel put there */
#define WAIT_STEPS 1000       /* each a millisecond, to wait for another thread's crash record */

static struct {
    pid_t process;   /* process that the handlers write for; 0: none; handlers of other threads read it any time */
    uint32_t thread; /* thread that began to die; 0: none */
    bool done;
    bool repaired; /* the warning that a part of the spool was lost was printed */
    /* Jump target for a fault while CUPTI's records are read, whose memory other threads may free meanwhile. */
    sigjmp_buf escape;
    volatile sig_atomic_t may_escape;
    uint64_t published[CRASH_NAMES_MAX]; /* hash table of pointers of names; 0: free slot */
    unsigned published_count;
} crash;

/* --- names --- */

static bool is_published(const char *name)
{
    uint64_t key = (uint64_t)(uintptr_t)name;
    size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 52);
    while (crash.published[at % CRASH_NAMES_MAX] != 0 && crash.published[at % CRASH_NAMES_MAX] != key)
        at++;
    if (crash.published[at % CRASH_NAMES_MAX] == key || crash.published_count == CRASH_NAMES_MAX / 2)
        return true;
    crash.published[at % CRASH_NAMES_MAX] = key;
    crash.published_count++;
    return false;
}

/* Writes NAME to the spool. If reading the text faults, the record stays uncommitted. */
static void publish_name(const char *name)
{
    if (is_published(name))
        return;
    size_t whole = strnlen(name, SPOOL_SYMBOL_MAX), length = record_text_kept((uint32_t)whole);
    struct spool_pointer_name *record;
    uint32_t bytes = spool_record_bytes(sizeof(*record), sizeof(record->text), (uint32_t)length);
    uint64_t since = kernel_names_since(); /* names of all earlier launches had been published by then */
    record = crash_chunk_begin(SPOOL_RECORD_POINTER_NAME, bytes, since ? since : clock_now());
    if (!record)
        return;
    record->pointer = (uint64_t)(uintptr_t)name;
    record->length = (uint32_t)length;
    record_put_text(record->text, text_of_bytes(name, whole), (uint32_t)length);
    crash_chunk_commit(&record->head);
}

static void let_faults_through(int how)
{
    sigset_t faults;
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    sigaddset(&faults, SIGBUS);
    sigprocmask(how, &faults, NULL);
}

/* Publishes the names in each buffer. After a name that could not be read, reads the buffer again without that name. */
static void publish_names(void)
{
    volatile unsigned buffer = 0, faults = 0;
    let_faults_through(SIG_UNBLOCK);
    if (sigsetjmp(crash.escape, 0) != 0 && ++faults % 8 == 0)
        buffer++;
    crash.may_escape = 1;
    for (; activity_buffers_crash_names(buffer, publish_name); buffer++)
        continue;
    crash.may_escape = 0;
    let_faults_through(SIG_BLOCK);
}

/* --- the stack --- */

#if MACHINE != EM_NONE

#define STACK_BYTES_MAX (UINT32_C(48) << 10)
#define MAPS_BYTES 4096
#define LINE_MAX_BYTES 1024 /* longer lines of maps are skipped */

/* Reads /proc/self/maps line by line. The struct is static because it is too large for a handler's stack, and only one
 * thread handles a crash. */
static struct maps {
    int file;
    size_t next, length; /* in `bytes` */
    char bytes[MAPS_BYTES];
    char line[LINE_MAX_BYTES];
    size_t line_length;
    uint64_t start, end; /* address range of the line */
    bool is_code, is_readable;
} maps;

static bool maps_open(void)
{
    maps.next = maps.length = 0;
    maps.file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    return maps.file >= 0;
}

/* Returns the next character, or -1 at the end. */
static int next_char(void)
{
    if (maps.next == maps.length) {
        ssize_t got = read(maps.file, maps.bytes, sizeof(maps.bytes));
        maps.next = 0;
        maps.length = got > 0 ? (size_t)got : 0;
    }
    return maps.next < maps.length ? (unsigned char)maps.bytes[maps.next++] : -1;
}

static uint64_t read_hex(const char **at)
{
    uint64_t value = 0;
    for (;; (*at)++) {
        char c = **at;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : 16;
        if (digit == 16)
            return value;
        value = value << 4 | digit;
    }
}

/* Parses the next line, as "7f5a01000000-7f5a01028000 r-xp 00028000 08:01 1234    /lib/libc.so.6". Returns false at the
 * end. */
static bool maps_next(void)
{
    int c;
    for (maps.line_length = 0; (c = next_char()) >= 0 && c != '\n';)
        if (maps.line_length < sizeof(maps.line) - 1)
            maps.line[maps.line_length++] = (char)c;
    maps.line[maps.line_length] = '\0';
    if (maps.line_length == 0)
        return false;
    const char *at = maps.line;
    maps.start = read_hex(&at);
    at += *at == '-';
    maps.end = read_hex(&at);
    maps.is_readable = at[0] == ' ' && at[1] == 'r';
    maps.is_code = maps.is_readable && at[2] != '\0' && at[3] == 'x' && maps.line_length < sizeof(maps.line) - 1;
    return true;
}

/* Returns how many bytes are readable from AT to the end of its mapping. The mapping behind it may be a device's, so
 * reading stops there. */
static uint64_t readable_from(uint64_t at)
{
    uint64_t bytes = 0;
    if (!maps_open())
        return 0;
    while (bytes == 0 && maps_next())
        if (at >= maps.start && at < maps.end && maps.is_readable)
            bytes = maps.end - at;
    close(maps.file);
    return bytes;
}

/* Copies stack memory of other functions' frames, which sanitizers would report. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static void copy_words(char *to, uint64_t from,
                                                                                      uint32_t bytes)
{
    for (uint32_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
        uint64_t word = *(const volatile uint64_t *)(uintptr_t)(from + i);
        __builtin_memcpy(to + i, &word, sizeof(word));
    }
}

/* Whether a word of the stack, or the instruction pointer, lies in the code mapping of the current line. */
static bool is_referred_to(const struct spool_crash_stack *stack, const char *words)
{
    uint64_t word = stack->registers[SPOOL_CRASH_REGISTERS - 1];
    if (word >= maps.start && word < maps.end)
        return true;
    for (uint32_t i = 0; i + sizeof(word) <= stack->length; i += sizeof(word)) {
        __builtin_memcpy(&word, words + i, sizeof(word));
        word = machine_code_address(MACHINE, word);
        if (word >= maps.start && word < maps.end)
            return true;
    }
    return false;
}

static void publish_code(const struct spool_crash_stack *stack, const char *words)
{
    struct spool_mapping *record;
    if (!maps_open())
        return;
    while (maps_next()) {
        if (!maps.is_code || !is_referred_to(stack, words))
            continue;
        uint32_t length = (uint32_t)maps.line_length;
        record = crash_chunk_begin(SPOOL_RECORD_MAPPING,
                                   spool_record_bytes(sizeof(*record), sizeof(record->text), length), clock_now());
        if (!record)
            break;
        record->length = length;
        __builtin_memcpy(record->text, maps.line, length);
        crash_chunk_commit(&record->head);
    }
    close(maps.file);
}

/* Copies the registers in the order of struct spool_crash_stack. Returns the stack pointer. */
static uint64_t copy_registers(const ucontext_t *context, uint64_t registers[SPOOL_CRASH_REGISTERS])
{
#if defined(__aarch64__)
    const mcontext_t *from = &context->uc_mcontext;
    memcpy(registers, &from->regs[16], 15 * sizeof(*registers));
    registers[15] = from->sp;
    registers[16] = from->pc;
    return from->sp;
#else
    /* The order of DWARF's register numbers: x86-64 psABI, figure 3.36. */
    static const int order[SPOOL_CRASH_REGISTERS] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
        REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
    };
    for (size_t i = 0; i < SPOOL_CRASH_REGISTERS; i++)
        registers[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
    return (uint64_t)context->uc_mcontext.gregs[REG_RSP];
#endif
}

void crash_stack_publish(const void *context, uint32_t thread)
{
    uint64_t registers[SPOOL_CRASH_REGISTERS];
    uint64_t from = copy_registers(context, registers) & ~(uint64_t)(sizeof(uint64_t) - 1);
    uint64_t bytes = readable_from(from);
    uint32_t length = bytes < STACK_BYTES_MAX ? (uint32_t)bytes : STACK_BYTES_MAX;
    struct spool_crash_stack *record = NULL;
    for (; !record && length > 0; length /= 2) { /* halved while names have taken too much of the space */
        record = crash_chunk_begin(SPOOL_RECORD_CRASH_STACK,
                                   spool_record_bytes(sizeof(*record), sizeof(record->text), length), clock_now());
        if (record)
            record->length = length & ~(uint32_t)(sizeof(uint64_t) - 1);
    }
    if (!record)
        return;
    char *words = (char *)record + offsetof(struct spool_crash_stack, text);
    memcpy(record->registers, registers, sizeof(registers));
    record->machine = MACHINE;
    record->stack = from;
    record->thread = thread;
    copy_words(words, from, record->length);
    crash_chunk_commit(&record->head);
    publish_code(record, words);
}

#else

void crash_stack_publish(const void *context, uint32_t thread)
{
    (void)context, (void)thread;
}

#endif

/* --- the signal --- */

/* Whether INFO belongs to signal NUMBER. INFO may be garbage: a program that restores our handler without SA_SIGINFO
 * may call it so. */
static bool is_info_of(const siginfo_t *info, int number)
{
    volatile bool is = false;
    let_faults_through(SIG_UNBLOCK);
    if (sigsetjmp(crash.escape, 0) == 0) {
        crash.may_escape = 1;
        is = info && info->si_signo == number;
    }
    crash.may_escape = 0;
    let_faults_through(SIG_BLOCK);
    return is;
}

static void publish_signal(int number, const siginfo_t *info, uint32_t thread)
{
    struct spool_crash *record = crash_chunk_begin(SPOOL_RECORD_CRASH, sizeof(*record), clock_now());
    if (!record)
        return;
    record->signal = number;
    record->thread = thread;
    if (info) {
        record->code = info->si_code;
        if (info->si_code > 0)
            record->address = (uint64_t)(uintptr_t)info->si_addr;
        else
            record->sender = (uint32_t)info->si_pid;
    }
    crash_chunk_commit(&record->head);
}

static void publish_stack(const void *context, uint32_t thread)
{
    let_faults_through(SIG_UNBLOCK);
    if (sigsetjmp(crash.escape, 0) == 0) {
        crash.may_escape = 1;
        crash_stack_publish(context, thread);
    }
    crash.may_escape = 0;
    let_faults_through(SIG_BLOCK);
}

/* Whether this thread is the first that dies. Otherwise waits, up to a limit, until the first thread has recorded its
 * crash. */
static bool is_first(uint32_t thread)
{
    uint32_t none = 0;
    if (__atomic_compare_exchange_n(&crash.thread, &none, thread, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return true;
    struct timespec step = {.tv_nsec = NS_PER_MS};
    for (int i = 0; i < WAIT_STEPS && none != thread && !__atomic_load_n(&crash.done, __ATOMIC_ACQUIRE); i++)
        nanosleep(&step, NULL);
    return false;
}

/* Whether the fault was in a page of the spool that memory has now replaced. If so, counts the loss and prints a
 * warning once. */
static bool is_page_repaired(int number, siginfo_t *info)
{
    siginfo_t copy; /* a checked copy, because INFO may be garbage */
    struct iovec from = {info, sizeof(*info)}, to = {&copy, sizeof(copy)};
    if (number != SIGBUS || !info || syscall(SYS_process_vm_readv, getpid(), &to, 1, &from, 1, 0) != (long)sizeof(copy))
        return false;
    if (copy.si_signo != SIGBUS || copy.si_code != BUS_ADRERR || spool_file_rescue(copy.si_addr) != 0)
        return false;
    let_faults_through(SIG_UNBLOCK); /* the header's page may be lost as well */
    __atomic_add_fetch(&spool_file_header()->losses.no_space, 1, __ATOMIC_RELAXED);
    let_faults_through(SIG_BLOCK);
    if (!__atomic_exchange_n(&crash.repaired, true, __ATOMIC_RELAXED))
        warning(
            "a part of the spool cannot be written (the disk is full, or its file was truncated): records may be lost");
    return true;
}

/* --- strict seccomp --- */

#ifdef __x86_64__
enum { GENERAL_PROTECTION = 13, FRAMES_BETWEEN = 64 /* stack words from a clock instruction to our call, at most */ };

/* The start and end of this library's code, which the linker defines. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

/* Whether a return address on this STACK lies in our code, which then called the clock. */
__attribute__((no_sanitize("address"))) static bool is_called_by_us(const uintptr_t *stack)
{
    for (unsigned i = 0; i < FRAMES_BETWEEN; i++)
        if (stack[i] - (uintptr_t)__ehdr_start < (uintptr_t)(etext - __ehdr_start))
            return true;
    return false;
}

/*
 * Whether the fault is strict seccomp's. SECCOMP_SET_MODE_STRICT kills for every system call of ours, and forbids
 * reading the processor's clock. So the first clock instruction of ours on such a thread faults and comes here; the
 * thread's recording then goes to sleep. No system call is made. CONTEXT is used only if it lies where the kernel puts
 * it, above the handler's FRAME, because the program may call the handler too. On some virtual machines the clock can
 * still be read, and nothing shows that a thread is in this mode.
 */
static bool is_clock_taken_away(int number, void *context, const char *frame)
{
    if (number != SIGSEGV || (const char *)context != frame + 2 * sizeof(void *))
        return false;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const uint8_t *at = (const uint8_t *)(uintptr_t)registers[REG_RIP];
    if (registers[REG_TRAPNO] != GENERAL_PROTECTION || at[0] != 0x0f)
        return false;
    bool rdtsc = at[1] == 0x31, rdtscp = at[1] == 0x01 && at[2] == 0xf9;
    if (!rdtsc && !rdtscp)
        return false;
    if (!is_called_by_us((const uintptr_t *)(uintptr_t)registers[REG_RSP]))
        __builtin_ia32_rdtsc(); /* the program's own instruction: it dies as without us, for the signal is blocked */
    /* Skips the instruction and returns the time 0. */
    registers[REG_RIP] += rdtsc ? 2 : 3;
    registers[REG_RAX] = registers[REG_RDX] = 0;
    if (rdtscp)
        registers[REG_RCX] = 0;
    writer_sleep();
    return true;
}
#else
static bool is_clock_taken_away(int number, void *context, const char *frame)
{
    (void)number, (void)context, (void)frame;
    return false;
}
#endif

/* Whether the kernel called the handler with this FRAME, and so put CONTEXT and INFO on the stack above it. */
static bool is_called_by_kernel(const siginfo_t *info, const void *context, const char *frame)
{
#if defined(__aarch64__)
    /* The handler returns to rt_sigreturn()'s code: mov x8, 139; svc 0. */
    uint64_t back = machine_code_address(MACHINE, LOAD(uint64_t, frame + sizeof(uint64_t)));
    const uint32_t *code = (const uint32_t *)(uintptr_t)back;
    return (const char *)context > frame && (const char *)context - frame < FRAME_BYTES_MAX &&
           (const char *)context == (const char *)(info + 1) && code[0] == 0xd2801168 && code[1] == 0xd4000001;
#else
    (void)info;
    return (const char *)context == frame + 2 * sizeof(void *);
#endif
}

static void die(int number, siginfo_t *info, void *context)
{
    const char *frame = __builtin_frame_address(0);
    bool from_kernel = is_called_by_kernel(info, context, frame);
    if (is_clock_taken_away(number, context, frame))
        return;
    int saved = errno;
    uint32_t thread = (uint32_t)syscall(SYS_gettid);
    pid_t process = getpid();
    bool ours = process == __atomic_load_n(&crash.process, __ATOMIC_RELAXED) && !fork_unannounced(); /* not a child */
    if (ours && is_page_repaired(number, info)) {
        errno = saved;
        return;
    }
    if (ours && (number == SIGSEGV || number == SIGBUS) && python_may_escape(thread)) {
        let_faults_through(SIG_UNBLOCK);
        python_escape(thread);
    }
    if (ours && thread == __atomic_load_n(&crash.thread, __ATOMIC_RELAXED) && crash.may_escape) {
        crash.may_escape = 0;
        siglongjmp(crash.escape, 1);
    }
    if (ours && is_first(thread)) {
        info = is_info_of(info, number) ? info : NULL;
        publish_signal(number, info, thread);
        publish_names();
        if (from_kernel) /* otherwise the program called the handler, with any CONTEXT */
            publish_stack(context, thread);
        __atomic_store_n(&crash.done, true, __ATOMIC_RELEASE);
    }
    /* Sends the signal again, to the same thread with the same siginfo_t: the default action follows when this handler
     * has returned. */
    sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    if (!info || syscall(SYS_rt_tgsigqueueinfo, process, thread, number, info) != 0)
        syscall(SYS_tgkill, process, thread, number);
    errno = saved;
}

static void watch(int number)
{
    struct sigaction action = {.sa_sigaction = die, .sa_flags = SA_SIGINFO | SA_ONSTACK}, before;
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        sigaction(number, &action, NULL);
}

void crash_handler_install_for_spool(void)
{
    __atomic_store_n(&crash.process, getpid(), __ATOMIC_RELAXED);
    watch(SIGBUS);
    watch(SIGSEGV); /* gets the fault that is_clock_taken_away() recognises */
}

void crash_handler_remove(void)
{
    int saved = errno;
    __atomic_store_n(&crash.process, 0, __ATOMIC_RELAXED);
    for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++) {
        struct sigaction now;
        if (sigaction(fatal[i], NULL, &now) == 0 && now.sa_sigaction == die)
            signal(fatal[i], SIG_DFL);
    }
    errno = saved;
}

void crash_handler_install(void)
{
    if (crash_chunk_open() != 0)
        return;
    __atomic_store_n(&crash.process, getpid(), __ATOMIC_RELAXED);
    for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
        watch(fatal[i]);
}

void crash_handler_atfork_child(void)
{
    __atomic_store_n(&crash.process, 0, __ATOMIC_RELAXED);
    crash.thread = 0;
    crash.done = crash.repaired = false;
    crash_chunk_atfork_child();
}

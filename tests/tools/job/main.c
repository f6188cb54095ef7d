#include "tests/tools/job/job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "trace/output.h"

static const char usage[] =
    "usage: make_job [OPTION...] DIRECTORY\n"
    "Writes the traces of a training job and what is true of it (truth.json) into DIRECTORY.\n"
    "  -n RANKS       ranks (8)\n"
    "  -H HOSTS       hosts, node0 to ... (one for 8 ranks)\n"
    "  -s STEPS       steps of about 20 ms (20)\n"
    "  -e EVENTS      so many slices of each rank at least, instead of -s\n"
    "  -t RANKS       of a tensor parallel group (1)\n"
    "  -p STAGES      of a pipeline (1); all other ranks are data parallel\n"
    "  -m NUMBER      microbatches of a step, all forward, then all backward (1)\n"
    "  -f ENDING      .pftrace, .json, .json.gz (.pftrace)\n"
    "  -w             a file for each host, node0.pftrace ..., else for each rank, rank0.pftrace ...\n"
    "  -r FIRST-LAST  writes only these files; what they hold does not depend on it\n"
    "  -j PROCESSES   that write at once (1)\n"
    "  -S SEED        of all that is random (1)\n"
    "  -l RANK:MS     the rank's host sleeps so long in each step\n"
    "  -d RANK:MS     loading its data takes so much longer\n"
    "  -C RANK:MS     copying its data to the GPU takes so much longer\n"
    "  -k RANK:PART   its kernels take so much longer: 0.2 for 20 percent\n"
    "  -x RANK:STEP   it dies in this step, and the others wait for it until all are killed\n"
    "  -L HOST:TIMES  transfers to and from the host take so many times as long\n"
    "  -o HOST:MS     its clock is ahead at the start, or, below 0, behind\n"
    "  -D HOST:PPM    and drifts\n"
    "  -c             all clocks but the first host's are ahead by -50 to 50 ms, and drift by -50 to 50 ppm\n"
    "-l, -d, -C, -k, -x, -L, -o, -D may be repeated, and RANK and HOST may be FIRST-LAST.\n";

#define OPTIONS "n:H:s:e:t:p:m:f:wr:j:S:l:d:C:k:x:L:o:D:c"

struct request {
    uint64_t events;
    uint32_t first, last, processes;
    bool clocks;
};

static int refuse(const char *what)
{
    fprintf(stderr, "make_job: %s\n%s", what, usage);
    return -1;
}

/* "RANK:VALUE" or "FIRST-LAST:VALUE", below COUNT. Returns the first rank, or exits. */
static uint32_t split(const char *text, uint32_t count, uint32_t *last, double *value)
{
    char *end;
    unsigned long first = strtoul(text, &end, 10), number = first;
    if (end > text && *end == '-')
        number = strtoul(end + 1, &end, 10);
    if (end == text || *end != ':' || first > number || number >= count)
        exit(refuse(text) != 0);
    *value = atof(end + 1);
    *last = (uint32_t)number;
    return (uint32_t)first;
}

static void set_one(struct job *job, int option, uint32_t number, double value)
{
    switch (option) {
    case 'l': job->of_rank[number].late = llround(value * 1e6); break;
    case 'd': job->of_rank[number].data = llround(value * 1e6); break;
    case 'C': job->of_rank[number].copy = llround(value * 1e6); break;
    case 'k': job->of_rank[number].slower = value; break;
    case 'x': job->of_rank[number].dies = (uint32_t)value; break;
    case 'L': job->of_host[number].link = value; break;
    case 'o': job->of_host[number].offset = llround(value * 1e6); break;
    case 'D': job->of_host[number].drift_ppm = value; break;
    default: break;
    }
}

/* What concerns ranks or hosts, once it is known how many there are. */
static void set_some(struct job *job, int option, const char *text)
{
    uint32_t last;
    double value;
    for (uint32_t i = split(text, strchr("LoD", option) ? job->hosts : job->ranks, &last, &value); i <= last; i++)
        set_one(job, option, i, value);
}

static int set_counts(struct job *job, struct request *request, int argc, char **argv)
{
    int option;
    while ((option = getopt(argc, argv, OPTIONS)) != -1) {
        switch (option) {
        case 'n': job->ranks = (uint32_t)atoi(optarg); break;
        case 'H': job->hosts = (uint32_t)atoi(optarg); break;
        case 's': job->steps = (uint32_t)atoi(optarg); break;
        case 'e': request->events = strtoull(optarg, NULL, 10); break;
        case 't': job->tensor = (uint32_t)atoi(optarg); break;
        case 'p': job->pipeline = (uint32_t)atoi(optarg); break;
        case 'm': job->microbatches = (uint32_t)atoi(optarg); break;
        case 'f': job->ending = optarg; break;
        case 'w': job->by_host = true; break;
        case 'r':
            if (sscanf(optarg, "%u-%u", &request->first, &request->last) != 2)
                return refuse(optarg);
            break;
        case 'j': request->processes = (uint32_t)atoi(optarg); break;
        case 'S': job->seed = strtoull(optarg, NULL, 10); break;
        case 'c': request->clocks = true; break;
        case '?': return refuse("what is asked for is not known");
        default: break;
        }
    }
    if (optind + 1 != argc)
        return refuse("one directory is wanted");
    job->directory = argv[optind];
    return 0;
}

static int check(struct job *job)
{
    if (job->microbatches == 0)
        return refuse("a step has a microbatch at least");
    if (job->ranks == 0 || job->tensor == 0 || job->pipeline == 0 || job->ranks % (job->tensor * job->pipeline) != 0)
        return refuse("the ranks cannot be divided so");
    job->hosts = job->hosts ? job->hosts : (job->ranks + 7) / 8;
    job->per_host = (job->ranks + job->hosts - 1) / job->hosts;
    job->hosts = (job->ranks + job->per_host - 1) / job->per_host;
    job->data = job->ranks / job->tensor / job->pipeline;
    if (!file_format_is_known("x.json") || strcmp(file_format_of("x")->ending, job->ending) == 0)
        return 0;
    char name[64];
    snprintf(name, sizeof(name), "x%s", job->ending);
    return file_format_is_known(name) ? 0 : refuse("the ending is not known");
}

static int set_up(struct job *job, const struct request *request, int argc, char **argv)
{
    int option;
    job->of_rank = calloc(job->ranks, sizeof(*job->of_rank));
    job->of_host = calloc(job->hosts, sizeof(*job->of_host));
    if (!job->of_rank || !job->of_host)
        return error_no_memory("the job");
    for (uint32_t rank = 0; rank < job->ranks; rank++)
        job->of_rank[rank].dies = UINT32_MAX;
    for (uint32_t host = 0; host < job->hosts; host++) {
        bool set = request->clocks && host > 0;
        job->of_host[host].link = 1;
        job->of_host[host].offset = set ? llround(100e6 * job_uniform(job, host, 0, 230, 0) - 50e6) : 0;
        job->of_host[host].drift_ppm = set ? 100 * job_uniform(job, host, 0, 231, 0) - 50 : 0;
    }
    optind = 1;
    while ((option = getopt(argc, argv, OPTIONS)) != -1)
        if (strchr("ldCkxLoD", option))
            set_some(job, option, optarg);
    job_program(job);
    uint32_t least = UINT32_MAX;
    for (uint32_t stage = 0; stage < job->pipeline; stage++)
        least = job->stages[stage].events < least ? job->stages[stage].events : least;
    if (request->events > 0)
        job->steps = (uint32_t)((request->events + least - 1) / least);
    return 0;
}

/* Process NUMBER writes its share. Returns its exit status. */
static int write_share(const struct job *job, const struct request *request, uint32_t number)
{
    uint64_t events = 0;
    for (uint32_t file = request->first; file <= request->last; file++)
        if (file % request->processes == number && job_file_write(job, file, &events) != 0)
            return 1;
    return 0;
}

static int write_files(const struct job *job, struct request *request)
{
    int failed = 0, status;
    uint32_t count = job_file_count(job);
    request->last = request->last < count ? request->last : count - 1;
    if (request->processes <= 1) {
        request->processes = 1;
        return write_share(job, request, 0);
    }
    for (uint32_t number = 0; number < request->processes; number++) {
        pid_t child = fork();
        if (child == 0)
            _exit(write_share(job, request, number));
        failed |= child < 0;
    }
    while (wait(&status) > 0)
        failed |= status != 0;
    return failed;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int argc, char **argv)
{
    static struct job job = {/* in use until the process ends */
                             .ranks = 8,        .steps = 20, .tensor = 1,         .pipeline = 1,
                             .microbatches = 1, .seed = 1,   .ending = ".pftrace"};
    struct request request = {.last = UINT32_MAX, .processes = 1};
    if (set_counts(&job, &request, argc, argv) != 0 || check(&job) != 0)
        return 2;
    if (set_up(&job, &request, argc, argv) != 0)
        return 1;
    mkdir(job.directory, 0777);
    double began = now();
    if (job_simulate(&job) != 0 || job_truth_write(&job) != 0)
        return 1;
    double simulated = now();
    if (write_files(&job, &request) != 0)
        return 1;
    printf("%u ranks on %u hosts, %u steps, %.3f s of their time: simulated in %.1f s, written in %.1f s\n", job.ranks,
           job.hosts, job.steps, (double)job.end * 1e-9, simulated - began, now() - simulated);
    return 0;
}

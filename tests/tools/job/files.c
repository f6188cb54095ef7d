#include "tests/tools/job/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/output.h"
#include "trace/sink.h"

enum { COMPUTE_STREAM = 13, COMMUNICATION_STREAM = 20, PIECE_BYTES = 2 << 20, TEXT = 160 };

struct job_writer {
    const struct job *job;
    struct output *output;
    struct gzip *gzip;
    struct output_block block;
    struct sink *whole;
    struct sink piece;
    bool in_piece;
    int status;
    uint64_t events;
    uint32_t rank, host, local, pid;
};

/* --- files and their ranks --- */

uint32_t job_file_count(const struct job *job)
{
    return job->by_host ? job->hosts : job->ranks;
}

static uint32_t first_rank(const struct job *job, uint32_t file)
{
    return job->by_host ? file * job->per_host : file;
}

static uint32_t end_rank(const struct job *job, uint32_t file)
{
    uint32_t end = job->by_host ? (file + 1) * job->per_host : file + 1;
    return end < job->ranks ? end : job->ranks;
}

/* --- pieces --- */

static void begin_piece(struct job_writer *writer)
{
    output_block_clear(&writer->block);
    sink_piece(&writer->piece, writer->whole, &writer->block.text);
    writer->in_piece = true;
}

static void end_piece(struct job_writer *writer)
{
    if (!writer->in_piece)
        return;
    writer->events += writer->piece.events;
    sink_release(&writer->piece);
    writer->in_piece = false;
    output_block_pack(&writer->block, writer->gzip);
    if (writer->status == 0)
        writer->status = output_put(writer->output, &writer->block);
}

void job_write_step(struct job_writer *writer)
{
    if (writer->in_piece && writer->block.text.length >= PIECE_BYTES)
        end_piece(writer);
}

static struct sink *piece_of(struct job_writer *writer)
{
    if (!writer->in_piece)
        begin_piece(writer);
    return &writer->piece;
}

/* --- events --- */

static void write_slice(struct job_writer *writer, enum category category, struct name name, struct row row,
                        int64_t start, int64_t end, const struct args *args)
{
    struct sink *sink = piece_of(writer);
    name.kept = true;
    struct slice slice = {.category = category,
                          .name = name,
                          .row = row,
                          .start = (uint64_t)job_shown(writer->job, writer->host, start),
                          .end = (uint64_t)job_shown(writer->job, writer->host, end),
                          .args = args};
    sink->format->slice(sink, &slice);
}

static void write_flow(struct job_writer *writer, struct row row, uint32_t id, int64_t time, bool end)
{
    struct sink *sink = piece_of(writer);
    struct flow flow = {
        .id = id, .ends = end, .row = row, .time = (uint64_t)job_shown(writer->job, writer->host, time)};
    sink->format->flow(sink, &flow);
}

static struct row thread_row(const struct job_writer *writer)
{
    return (struct row){writer->pid, writer->pid};
}

static struct row stream_row(const struct job_writer *writer, uint32_t stream)
{
    return (struct row){writer->local, stream};
}

void job_write_range(struct job_writer *writer, const char *name, int64_t start, int64_t end)
{
    const struct args args = {.count = 0};
    write_slice(writer, CATEGORY_USER_ANNOTATION, name_plain(name), thread_row(writer), start, end, &args);
}

void job_write_call(struct job_writer *writer, const char *name, uint32_t cbid, uint32_t correlation, int64_t start,
                    int64_t end, bool launches)
{
    struct args args;
    args.count = 0;
    args_u64(&args, ARG_CBID, cbid);
    args_u64(&args, ARG_CORRELATION, correlation);
    write_slice(writer, CATEGORY_CUDA_RUNTIME, name_plain(name), thread_row(writer), start, end, &args);
    if (launches)
        write_flow(writer, thread_row(writer), correlation, start, false);
}

static void put_where(const struct job_writer *writer, struct args *args, uint32_t stream, uint32_t correlation)
{
    args_u64(args, ARG_DEVICE, writer->local);
    args_u64(args, ARG_CONTEXT, 1);
    args_u64(args, ARG_STREAM, stream);
    args_u64(args, ARG_CORRELATION, correlation);
}

static void put_kernel(const struct job_writer *writer, struct args *args, uint32_t stream, uint32_t correlation,
                       int32_t blocks)
{
    const int32_t grid[3] = {blocks, 1, 1}, block[3] = {256, 1, 1};
    args->count = 0;
    args_u64(args, ARG_QUEUED, 0);
    put_where(writer, args, stream, correlation);
    args_u64(args, ARG_REGISTERS, 64);
    args_u64(args, ARG_SHARED_MEMORY, 49152);
    args_real(args, ARG_BLOCKS_PER_SM, ARG_TYPE_FIXED, blocks / 132.0);
    args_real(args, ARG_WARPS_PER_SM, ARG_TYPE_FIXED, blocks * 8 / 132.0);
    args_size3(args, ARG_GRID, grid);
    args_size3(args, ARG_BLOCK, block);
    args_u64(args, ARG_OCCUPANCY, 50);
}

static void write_gpu_op(struct job_writer *writer, enum category category, const char *name, uint32_t stream,
                         uint32_t correlation, int64_t start, int64_t end, const struct args *args)
{
    write_slice(writer, category, name_plain(name), stream_row(writer, stream), start, end, args);
    write_flow(writer, stream_row(writer, stream), correlation, start, true);
}

void job_write_kernel(struct job_writer *writer, uint32_t kind, uint32_t correlation, int64_t start, int64_t end)
{
    static const char *const names[] = {
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_kernel__5x_cublas",
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>>(int, float)",
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, float)",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_tilesize128x256x64_warpgroupsize2x1x1_execute_kernel__5x_cublas",
        "flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>, true, false>(Flash_fwd_params)",
        "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl>(int, float)",
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::sum_functor<float>>>(float)",
        "flash_bwd_dq_dk_dv_loop_kernel<Flash_bwd_kernel_traits<128, 64, 128, 8>, true, false>(Flash_bwd_params)",
        "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>>(int, TensorListMetadata<4>)",
        "triton_poi_fused_add_mul_3",
        "triton_red_fused_native_layer_norm_5",
    };
    struct args args;
    put_kernel(writer, &args, COMPUTE_STREAM, correlation, 264 + 132 * (int32_t)(kind % 13));
    write_gpu_op(writer, CATEGORY_KERNEL, names[kind % (sizeof(names) / sizeof(*names))], COMPUTE_STREAM, correlation,
                 start, end, &args);
}

void job_write_copy(struct job_writer *writer, uint64_t bytes, uint32_t correlation, int64_t start, int64_t end)
{
    struct args args;
    args.count = 0;
    put_where(writer, &args, COMPUTE_STREAM, correlation);
    args_u64(&args, ARG_BYTES, bytes);
    args_real(&args, ARG_BANDWIDTH, ARG_TYPE_FIXED, (double)bytes / (double)(end - start));
    write_gpu_op(writer, CATEGORY_GPU_MEMCPY, "Memcpy HtoD (Pinned -> Device)", COMPUTE_STREAM, correlation, start, end,
                 &args);
}

/* TEXT for the communicator's number. */
static void put_communication(const struct job_writer *writer, struct args *args, const struct job_op *op,
                              uint64_t sequence, char text[TEXT])
{
    struct job_group_of group = job_group_of(writer->job, op->group, writer->rank);
    uint64_t shared =
        op->bytes / 2 / (op->operation == JOB_ALL_GATHER || op->operation == JOB_REDUCE_SCATTER ? group.size : 1);
    uint64_t in = op->operation == JOB_ALL_GATHER ? shared : op->bytes / 2;
    uint64_t out = op->operation == JOB_REDUCE_SCATTER ? shared : op->bytes / 2;
    const char *name = job_operation_names[op->operation].name;
    int length = snprintf(text, TEXT, "0x%x%08x", 0x5eed00 + (unsigned)op->group, group.number * 2654435761u);
    args_text(args, ARG_COLLECTIVE, name, strlen(name));
    args_text(args, ARG_COMMUNICATOR, text, (size_t)length);
    args_u64(args, ARG_GROUP_SIZE, group.size);
    args_u64(args, ARG_GROUP_RANK, group.rank);
    args_u64(args, ARG_GROUP_SEQUENCE, sequence);
    args_u64(args, ARG_IN_ELEMENTS, in);
    args_u64(args, ARG_OUT_ELEMENTS, out);
    args_text(args, ARG_DTYPE, "BFloat16", 8);
    if (op->group == JOB_PIPELINE)
        args_i64(args, op->operation == JOB_SEND ? ARG_TARGET_RANK : ARG_SOURCE_RANK, (int64_t)group.rank + op->peer);
}

void job_write_communication(struct job_writer *writer, const struct job_run *run, const struct job_op *op,
                             uint64_t sequence, int64_t left)
{
    const struct job_operation_names *names = &job_operation_names[op->operation];
    struct args args;
    char text[TEXT];
    args.count = 0;
    args_text(&args, ARG_DOMAIN, "NCCL", 4);
    put_communication(writer, &args, op, sequence, text);
    write_slice(writer, CATEGORY_USER_ANNOTATION, name_plain(names->call), thread_row(writer), run->called,
                run->returned, &args);
    put_kernel(writer, &args, COMMUNICATION_STREAM, run->correlation, 24);
    put_communication(writer, &args, op, sequence, text);
    write_gpu_op(writer, CATEGORY_KERNEL, names->kernel, COMMUNICATION_STREAM, run->correlation, run->entered, left,
                 &args);
}

void job_write_stuck(struct job_writer *writer, const struct job_run *run, const struct job_op *op, uint64_t sequence)
{
    const struct job_operation_names *names = &job_operation_names[op->operation];
    struct sink *sink = piece_of(writer);
    struct args args;
    char text[TEXT];
    args.count = 0;
    args_text(&args, ARG_DOMAIN, "NCCL", 4);
    put_communication(writer, &args, op, sequence, text);
    write_slice(writer, CATEGORY_USER_ANNOTATION, name_plain(names->call), thread_row(writer), run->called,
                run->returned, &args);
    args.count = 0;
    put_where(writer, &args, COMMUNICATION_STREAM, run->correlation);
    put_communication(writer, &args, op, sequence, text);
    struct slice instant = {.category = CATEGORY_GPU_IN_FLIGHT,
                            .name = name_plain(names->kernel),
                            .row = stream_row(writer, COMMUNICATION_STREAM),
                            .start = (uint64_t)job_shown(writer->job, writer->host, run->launched),
                            .args = &args};
    sink->format->instant(sink, &instant);
    job_write_open_ranges(writer, run, writer->job->end);
}

void job_write_open_ranges(struct job_writer *writer, const struct job_run *run, int64_t end)
{
    struct args args;
    args.count = 0;
    args_add(&args, ARG_OPEN_AT_END, ARG_TYPE_TRUE);
    for (unsigned i = 0; i < run->depth; i++)
        write_slice(writer, CATEGORY_USER_ANNOTATION, name_plain(run->pushed_names[i]), thread_row(writer),
                    run->pushed[i], end, &args);
}

/* --- rows --- */

static void be_rank(struct job_writer *writer, uint32_t rank)
{
    writer->rank = rank;
    writer->local = rank % writer->job->per_host;
    writer->pid = JOB_FIRST_PID + writer->local;
}

static void write_rows(struct job_writer *writer)
{
    struct sink *sink = writer->whole;
    char name[64], label[32];
    struct row_name process = {
        .row = {writer->pid, writer->pid}, .name = name, .label = "CPU", .sort_index = writer->pid};
    snprintf(name, sizeof(name), "rank %u: train", writer->rank);
    sink->format->process(sink, &process);
    struct row_name gpu = {.row = {writer->local, 0},
                           .name = name,
                           .label = label,
                           .owner = writer->pid,
                           .sort_index = 5000000 + writer->local};
    snprintf(name, sizeof(name), "rank %u: train GPU %u", writer->rank, writer->local);
    snprintf(label, sizeof(label), "GPU %u", writer->local);
    sink->format->process(sink, &gpu);
    struct row_name thread = {.row = thread_row(writer), .name = name, .sort_index = writer->pid * 100 + 20};
    snprintf(name, sizeof(name), "thread %u (train)", writer->pid);
    sink->format->thread(sink, &thread);
    static const uint32_t streams[] = {COMPUTE_STREAM, COMMUNICATION_STREAM};
    for (size_t i = 0; i < 2; i++) {
        struct row_name stream = {.row = stream_row(writer, streams[i]),
                                  .name = name,
                                  .owner = writer->pid,
                                  .sort_index = streams[i] * 100 + 20};
        snprintf(name, sizeof(name), "stream %u", streams[i]);
        sink->format->thread(sink, &stream);
    }
}

/* --- a file --- */

static void write_rank(struct job_writer *writer, uint32_t rank)
{
    const struct job *job = writer->job;
    struct job_run run;
    const struct job_op *op;
    be_rank(writer, rank);
    job_run_begin(&run, job, rank);
    while (writer->status == 0 && (op = job_run_next(&run, writer))) {
        uint32_t duration = *job_duration(job, rank, run.step, run.communication);
        job_run_leave(&run, op, duration == JOB_STUCK ? -1 : run.entered + duration, writer);
        if (duration == JOB_STUCK)
            break;
    }
    end_piece(writer);
}

static int write_all(struct job_writer *writer, uint32_t first, uint32_t end)
{
    struct sink *sink = writer->whole;
    job_metadata_write(writer->job, first, end, writer->output->path, sink);
    sink->format->begin(sink, (uint64_t)JOB_EPOCH - 1000000000);
    for (uint32_t rank = first; rank < end; rank++) {
        be_rank(writer, rank);
        write_rows(writer);
    }
    for (uint32_t rank = first; rank < end; rank++)
        write_rank(writer, rank);
    sink->format->finish(sink);
    return writer->status;
}

int job_file_write(const struct job *job, uint32_t file, uint64_t *events)
{
    char path[4096];
    struct output output;
    struct sink sink;
    uint32_t first = first_rank(job, file);
    struct job_writer writer = {.job = job, .output = &output, .whole = &sink, .host = job_host_of(job, first)};
    uint64_t bytes;
    snprintf(path, sizeof(path), "%s/%s%u%s", job->directory, job->by_host ? "node" : "rank", file, job->ending);
    if (output_open(&output, path) != 0)
        return -1;
    if (output.gzip && !(writer.gzip = gzip_new(gzip_form(output.gzip)))) {
        output_discard(&output);
        return -1;
    }
    sink_init(&sink, file_format_of(path)->sink, &output.buffer);
    output_block_init(&writer.block);
    int status = write_all(&writer, first, end_rank(job, file));
    sink_release(&sink);
    output_block_release(&writer.block);
    gzip_free(writer.gzip);
    *events += writer.events;
    if (status == 0)
        return output_commit(&output, &bytes);
    output_discard(&output);
    return -1;
}

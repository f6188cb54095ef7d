/*
 * What the tool does with each record: a row for each kind of CUPTI's and each type of the agent's. Its users take the
 * columns they need: trace/spool/cupti.c and agent_records.c the event and its decoder,
 * trace/meaning/passes/parallel_scan.c what the passes do with the event. no_index, no_resolve, no_write: the pass does
 * nothing.
 *
 * An event without a decoder (NULL) has what every record has. What is the record's own the passes read from
 * event->record, a struct of common/spool_records.h, unless several kinds of records become the event. CUPTI's kinds,
 * their sizes and when they are on are rows of common/cupti.h, the agent's types and their structs rows of
 * common/spool_records.h.
 */
#ifndef GPUTRACE_TRACE_SPOOL_RECORD_TABLE_H
#define GPUTRACE_TRACE_SPOOL_RECORD_TABLE_H

/*
 * X(kind, event, decode, type, last, index, resolve, write, cause)
 *   A record of CUPTI_ACTIVITY_KIND_<kind>, a CUpti_Activity<type> that is long enough for its field <last>, becomes an
 *   EVENT_<event> when decode() has read it. The three passes call index(), resolve() and write(); several
 *   threads read API calls and GPU operations before (index_pass.c, resolve_pass.c). CAUSE: enum event_cause.
 *
 * ALSO(kind, event, decode, type, last)
 *   Another kind that becomes the same event.
 */
#define CUPTI_RECORDS(X, ALSO)                                                                                         \
    X(CONCURRENT_KERNEL, KERNEL, decode_kernel, Kernel10, name, index_gpu_op, resolve_gpu_op, write_gpu_op,            \
      STARTED_BY_CALL)                                                                                                 \
    ALSO(KERNEL, KERNEL, decode_kernel, Kernel10, name)                                                                \
    X(MEMCPY, MEMCPY, decode_memcpy, Memcpy6, correlationId, index_gpu_op, resolve_gpu_op, write_gpu_op,               \
      STARTED_BY_CALL)                                                                                                 \
    ALSO(MEMCPY2, MEMCPY, decode_peer_copy, MemcpyPtoP4, correlationId)                                                \
    X(MEMSET, MEMSET, decode_memset, Memset4, memoryKind, index_gpu_op, resolve_gpu_op, write_gpu_op, STARTED_BY_CALL) \
    X(GRAPH_TRACE, GRAPH, decode_graph, GraphTrace2, streamId, index_gpu_op, resolve_gpu_op, write_gpu_op,             \
      STARTED_BY_CALL)                                                                                                 \
    X(RUNTIME, API, decode_api, API, returnValue, no_index, resolve_api, write_api, ON_THREAD)                         \
    ALSO(DRIVER, API, decode_api, API, returnValue)                                                                    \
    X(SYNCHRONIZATION, SYNC, decode_sync, Synchronization2, cudaEventId, index_sync, resolve_sync, write_sync,         \
      WITHIN_CALL)                                                                                                     \
    X(UNIFIED_MEMORY_COUNTER, UNIFIED_MEMORY, decode_unified_memory, UnifiedMemoryCounter2, flags,                     \
      index_unified_memory, resolve_unified_memory, write_unified_memory, NO_CALL)                                     \
    X(CUDA_EVENT, CUDA_EVENT, decode_cuda_event, CudaEvent2, eventId, index_cuda_event, no_resolve, write_cuda_event,  \
      STARTED_BY_CALL)                                                                                                 \
    X(OVERHEAD, OVERHEAD, decode_overhead, Overhead3, end, index_overhead, no_resolve, write_overhead, ON_THREAD)      \
    X(JIT, JIT, decode_jit, Jit2, correlationId, index_jit, no_resolve, no_write,                                      \
      WITHIN_CALL) /* written with the phases */                                                                       \
    X(DEVICE, DEVICE, decode_device, Device5, name, index_device, no_resolve, no_write, NO_CALL)                       \
    X(CONTEXT, CONTEXT, decode_context, Context3, deviceId, index_context, no_resolve, no_write, NO_CALL)

/*
 * X(record, event, decode, index, resolve, write), ALSO(record, event, decode): the same of SPOOL_RECORD_<record>.
 */
#define AGENT_RECORDS(X, ALSO)                                                                                         \
    X(POINTER_NAME, POINTER_NAME, NULL, index_pointer_name, no_resolve, no_write)                                      \
    X(THREAD_NAME, THREAD_NAME, decode_thread_name, index_thread_name, no_resolve, no_write)                           \
    X(CAPTURE, CAPTURE, decode_capture, index_capture, no_resolve, write_capture)                                      \
    X(NOTE, NOTE, NULL, no_index, no_resolve, no_write)                                                                \
    X(SEEN, SEEN, NULL, index_seen, no_resolve, no_write)                                                              \
    X(CONTEXT, CONTEXT, decode_context, index_context, no_resolve, no_write)                                           \
    X(STREAM, STREAM, decode_stream, index_stream, no_resolve, no_write)                                               \
    X(MEMORY, MEMORY, decode_memory, index_memory, no_resolve, no_write)                                               \
    X(POOL_LEVEL, POOL, decode_pool_level, index_pool, no_resolve, no_write)                                           \
    X(NVTX_DOMAIN, NVTX_DOMAIN, decode_nvtx_domain, index_nvtx_name, no_resolve, no_write)                             \
    X(NVTX_STRING, NVTX_STRING, decode_nvtx_string, index_nvtx_name, no_resolve, no_write)                             \
    X(NVTX_CATEGORY, NVTX_CATEGORY, decode_nvtx_category, index_nvtx_name, no_resolve, no_write)                       \
    X(NVTX_NAME, NVTX_NAME, decode_nvtx_name, no_index, no_resolve, no_write) /* indexed once all streams are known */ \
    X(NVTX_EVENT, NVTX, decode_nvtx_event, index_nvtx, no_resolve, write_nvtx)                                         \
    ALSO(NVTX_PLAIN, NVTX, decode_nvtx_plain)                                                                          \
    X(NVTX_RESOURCE, NVTX_RESOURCE, decode_nvtx_resource, index_nvtx_name, no_resolve, no_write)                       \
    X(NVTX_RECORDED, NVTX_RECORDED, decode_nvtx_recorded, index_nvtx_name, no_resolve, no_write)                       \
    X(NVTX_SCHEMA, NVTX_EXTENSION, NULL, index_nvtx_extension, no_resolve, no_write)                                   \
    ALSO(NVTX_ENTRY, NVTX_EXTENSION, NULL)                                                                             \
    ALSO(NVTX_SEMANTICS, NVTX_EXTENSION, NULL)                                                                         \
    ALSO(NVTX_SCOPE, NVTX_EXTENSION, NULL)                                                                             \
    ALSO(NVTX_TIME_DOMAIN, NVTX_EXTENSION, NULL)                                                                       \
    ALSO(NVTX_SYNC, NVTX_EXTENSION, NULL)                                                                              \
    ALSO(NVTX_PIECE, NVTX_EXTENSION, NULL)                                                                             \
    ALSO(NVTX_DEFERRED, NVTX_EXTENSION, NULL)                                                                          \
    ALSO(NVTX_COUNTER, NVTX_EXTENSION, NULL)                                                                           \
    ALSO(NVTX_SAMPLE, NVTX_EXTENSION, NULL)                                                                            \
    ALSO(NVTX_MEMORY, NVTX_EXTENSION, NULL)                                                                            \
    X(PHASE, PHASE, decode_phase, index_phase, no_resolve, no_write)                                                   \
    X(PLUGIN, PLUGIN, NULL, index_plugin, no_resolve, no_write)                                                        \
    X(PLUGIN_TIME, PLUGIN_TIME, NULL, index_plugin_time, no_resolve, no_write)                                         \
    X(PLUGIN_WINDOW, PLUGIN_WINDOW, decode_plugin_window, no_index, no_resolve,                                        \
      no_write) /* index_capture_intervals() */                                                                        \
    X(PLUGIN_EVENT, PLUGIN_EVENT, decode_plugin_event, index_plugin_event, no_resolve, write_plugin_event)             \
    X(PLUGIN_LINE, PLUGIN_LINE, NULL, index_plugin_line, no_resolve, no_write)                                         \
    X(STACK, STACK, NULL, index_stack, no_resolve, no_write)                                                           \
    X(MAPPING, MAPPING, NULL, index_mapping, no_resolve, no_write)                                                     \
    X(DEVICE_RANGE, DEVICE_RANGE, decode_device_range, no_index, no_resolve, no_write) /* index_capture_intervals() */ \
    X(CRASH, CRASH, decode_crash, index_crash_record, no_resolve, no_write)                                            \
    X(OPEN_CALL, OPEN_CALL, decode_open_call, index_crash_record, no_resolve, no_write)                                \
    X(CRASH_STACK, CRASH_STACK, NULL, index_crash_stack, no_resolve, no_write)                                         \
    X(LAUNCH_NAME, LAUNCH_NAME, decode_launch_name, index_launch_name, no_resolve, no_write)                           \
    X(FUNCTION_NAME, FUNCTION_NAME, decode_function_name, index_function_name, no_resolve, no_write)                   \
    X(GRAPH_NODE, GRAPH_NODE, decode_graph_node, index_graph_node, no_resolve, no_write)                               \
    X(GRAPH_LAUNCH, GRAPH_LAUNCH, decode_graph_launch, index_graph_launch, no_resolve, no_write)                       \
    X(CALL_STACK, CALL_STACK, NULL, index_call_stack, no_resolve, no_write)                                            \
    X(SYNC, SYNC, decode_agent_sync, index_agent_sync, resolve_agent_sync, write_agent_sync)                           \
    X(EVENT_RECORD, CUDA_EVENT, decode_event_record, index_event_record, no_resolve, no_write)                         \
    X(CPU_SAMPLE, CPU_SAMPLE, decode_cpu_sample, index_cpu_sample, no_resolve, write_cpu_sample)                       \
    X(THREAD_STATE, THREAD_STATE, decode_thread_state, index_thread_state, no_resolve, write_thread_state)             \
    X(TORCH_TEXT, OPERATOR_TEXT, decode_torch_text, index_operator_name, no_resolve, no_write)                         \
    X(TORCH_THREAD, OPERATOR_THREAD, decode_torch_thread, index_operator_name, no_resolve, no_write)                   \
    X(TORCH_START, OPERATOR, decode_operator, index_operator, no_resolve, no_write) /* written with NVTX's ranges */   \
    X(TORCH_INPUTS, OPERATOR_INPUTS, decode_torch_inputs, index_operator, no_resolve, no_write)                        \
    X(TORCH_END, OPERATOR_END, decode_torch_end, index_operator, no_resolve, no_write)                                 \
    X(PYTHON_FRAME, PYTHON_FRAME, NULL, index_python_frame, no_resolve, no_write)                                      \
    X(GRAPH_NODE_STACK, GRAPH_NODE_STACK, NULL, index_graph_node_stack, no_resolve, no_write)                          \
    X(NCCL_COMMUNICATOR, NCCL, NULL, index_nccl, no_resolve, no_write)                                                 \
    ALSO(NCCL_OPERATION, NCCL, NULL)                                                                                   \
    ALSO(NCCL_STEPS, NCCL, NULL)

#endif

// A stand-in for libcuda.so.1: device memory is host memory, and kernels are run by a function of the test.
//
// It is stricter than a GPU where it can be. Work in a stream waits until something waits for it, so that what is read
// too early is poison. Memory is poisoned when it is taken. Every address must lie in an allocation, every call
// needs a current context, and a call that is not here fails with CUDA_ERROR_NOT_SUPPORTED.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_CONTEXT = 201, NOT_FOUND = 500,
       ILLEGAL_ADDRESS = 700, NOT_SUPPORTED = 801, CAPTURE_UNSUPPORTED = 900, UPDATE_FAILURE = 910 };
enum { MOST_PARAMS = 64, MOST_NAMES = 4096, CONTEXT = 0x1000 };
typedef uintptr_t Handle;
typedef int (*KernelRunner)(const char *entry, const unsigned *shape, const uint64_t *params, int count);

static pthread_mutex_t lock;
static void __attribute__((constructor)) begin(void) {
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&lock, &kind);
}

// ---- what tests set and read ----
typedef struct { char name[64]; long count; int failure; } Called;
static Called called[256];
static int calls, sticky, devices = 1, driver_version = 13000, capability = 90;
static size_t total = (size_t)1 << 40, taken;
static long pinned;
static KernelRunner runner;

static Called *record(const char *name) {
  for (int i = 0; i < calls; i++) if (!strcmp(called[i].name, name)) return &called[i];
  strncpy(called[calls].name, name, 63);
  return &called[calls++];
}
void standin_runner(KernelRunner function) { runner = function; }
void standin_fail(const char *name, int error) { record(name)->failure = error; }
long standin_calls(const char *name) { return record(name)->count; }
void standin_machine(int count, int version, int cc, size_t bytes) {
  devices = count; driver_version = version; capability = cc; total = bytes;
}
size_t standin_taken(void) { return taken; }
long standin_pinned(void) { return pinned; }
void standin_reset(void) { calls = sticky = 0; memset(called, 0, sizeof called); }

// ---- contexts: a stack for each thread ----
static __thread int depth;

#define ENTER(name) pthread_mutex_lock(&lock); Called *me_ = record(name); me_->count++; \
  if (me_->failure) { int e_ = me_->failure; me_->failure = 0; pthread_mutex_unlock(&lock); return e_; }
#define LEAVE(error) do { int e_ = (error); pthread_mutex_unlock(&lock); return e_; } while (0)
#define IN_CONTEXT if (!depth) LEAVE(INVALID_CONTEXT); if (sticky) LEAVE(sticky);

// ---- memory ----
typedef struct Block { Handle base; size_t size; struct Block *next; } Block;
static Block *blocks;

// The bytes from an address to the end of its allocation; 0 where it lies in none.
size_t standin_room(Handle address) {
  for (Block *b = blocks; b; b = b->next)
    if (address >= b->base && address < b->base + b->size) return b->base + b->size - address;
  return 0;
}
static int inside(Handle address, size_t size) { return size == 0 || standin_room(address) >= size; }

// ---- streams, and graphs made of their work ----
typedef struct { char entry[512]; int count; } Kernel;
typedef void (*HostWork)(void *data);
typedef struct Work {
  enum { KERNEL, SET, COPY, HOST } kind;
  Kernel *kernel; unsigned shape[6]; uint64_t params[MOST_PARAMS];
  Handle to, from; size_t size; int value;
  HostWork work; void *data;
  struct Work *next;
} Work;
typedef struct { Work *first, **end; } Queue;
typedef struct Stream { Queue pending; Queue *graph; struct Stream *next; } Stream;
static Stream *streams, legacy;

static void append(Queue *queue, Work *work) {
  if (!queue->end) queue->end = &queue->first;
  work->next = 0;
  *queue->end = work;
  queue->end = &work->next;
}
static Work *copied(const Work *work) { Work *c = malloc(sizeof *c); *c = *work; return c; }

static int done(const Work *work) {
  switch (work->kind) {
  case KERNEL:
    for (int i = 0; i < work->kernel->count; i++) if (!standin_room(work->params[i])) return ILLEGAL_ADDRESS;
    return runner ? runner(work->kernel->entry, work->shape, work->params, work->kernel->count) : NOT_SUPPORTED;
  case SET: memset((void *)work->to, work->value, work->size); return SUCCESS;
  case COPY: memcpy((void *)work->to, (void *)work->from, work->size); return SUCCESS;
  default: work->work(work->data); return SUCCESS;
  }
}
static int drained(Stream *stream) {
  while (stream->pending.first) {
    Work *work = stream->pending.first;
    stream->pending.first = work->next;
    int error = done(work);
    free(work);
    if (error) sticky = error;
  }
  stream->pending.end = 0;
  return sticky;
}
static void all_drained(void) { drained(&legacy); for (Stream *s = streams; s; s = s->next) drained(s); }
static Stream *stream_of(Handle handle) { return handle <= 2 ? &legacy : (Stream *)handle; }
static int queued(Handle handle, Work *work) {
  Stream *stream = stream_of(handle);
  append(stream->graph ? stream->graph : &stream->pending, work);
  return SUCCESS;
}
// For other stand-ins: work that a library puts into a stream.
int standin_enqueue(Handle stream, HostWork function, const void *data, size_t size) {
  pthread_mutex_lock(&lock);
  Work work = {.kind = HOST, .work = function, .data = memcpy(malloc(size), data, size)};
  int error = queued(stream, copied(&work));
  pthread_mutex_unlock(&lock);
  return error;
}

// ---- the driver ----
int cuInit(unsigned flags) { ENTER("cuInit") LEAVE(devices ? SUCCESS : NO_DEVICE); }
int cuDriverGetVersion(int *version) { ENTER("cuDriverGetVersion") *version = driver_version; LEAVE(SUCCESS); }
int cuDeviceGetCount(int *count) { ENTER("cuDeviceGetCount") *count = devices; LEAVE(SUCCESS); }
int cuDeviceGet(int *device, int number) { ENTER("cuDeviceGet") *device = number; LEAVE(SUCCESS); }
int cuDeviceGetName(char *name, int size, int device) {
  ENTER("cuDeviceGetName") snprintf(name, size, "stand-in"); LEAVE(SUCCESS);
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  ENTER("cuDeviceGetAttribute")
  if (attribute == 75) *value = capability / 10;
  else if (attribute == 76) *value = capability % 10;
  else LEAVE(INVALID_VALUE);
  LEAVE(SUCCESS);
}
int cuDevicePrimaryCtxRetain(Handle *context, int device) {
  ENTER("cuDevicePrimaryCtxRetain") *context = CONTEXT; LEAVE(SUCCESS);
}
int cuCtxPushCurrent(Handle context) {
  ENTER("cuCtxPushCurrent") if (context != CONTEXT) LEAVE(INVALID_CONTEXT); depth++; LEAVE(SUCCESS);
}
int cuCtxPopCurrent(Handle *context) {
  ENTER("cuCtxPopCurrent") if (!depth) LEAVE(INVALID_CONTEXT); depth--; *context = CONTEXT; LEAVE(SUCCESS);
}
int cuMemGetInfo(size_t *unused, size_t *all) {
  ENTER("cuMemGetInfo") IN_CONTEXT *unused = total - taken; *all = total; LEAVE(SUCCESS);
}
int cuMemAlloc(Handle *address, size_t size) {
  ENTER("cuMemAlloc") IN_CONTEXT
  if (!size) LEAVE(INVALID_VALUE);
  if (taken + size > total) LEAVE(OUT_OF_MEMORY);
  Block *block = malloc(sizeof *block);
  block->base = (Handle)aligned_alloc(512, (size + 511) / 512 * 512);
  block->size = size;
  memset((void *)block->base, 0xFF, size);
  block->next = blocks;
  blocks = block;
  taken += size;
  *address = block->base;
  LEAVE(SUCCESS);
}
int cuMemFree(Handle address) {
  ENTER("cuMemFree") IN_CONTEXT
  all_drained();
  for (Block **b = &blocks; *b; b = &(*b)->next)
    if ((*b)->base == address) {
      Block *gone = *b;
      *b = gone->next;
      taken -= gone->size;
      free((void *)address);
      free(gone);
      LEAVE(SUCCESS);
    }
  LEAVE(INVALID_VALUE);
}
int cuMemHostAlloc(void **address, size_t size, unsigned flags) {
  ENTER("cuMemHostAlloc") IN_CONTEXT
  *address = memset(malloc(size), 0xFF, size);
  pinned++;
  LEAVE(SUCCESS);
}
int cuMemFreeHost(void *address) {
  ENTER("cuMemFreeHost") IN_CONTEXT
  all_drained();
  free(address);
  pinned--;
  LEAVE(SUCCESS);
}
static int copy_queued(Handle stream, Handle to, Handle from, size_t size) {
  Work work = {.kind = COPY, .to = to, .from = from, .size = size};
  return queued(stream, copied(&work));
}
int cuMemcpyHtoDAsync(Handle to, const void *from, size_t size, Handle stream) {
  ENTER("cuMemcpyHtoDAsync") IN_CONTEXT
  LEAVE(inside(to, size) ? copy_queued(stream, to, (Handle)from, size) : INVALID_VALUE);
}
int cuMemcpyDtoHAsync(void *to, Handle from, size_t size, Handle stream) {
  ENTER("cuMemcpyDtoHAsync") IN_CONTEXT
  LEAVE(inside(from, size) ? copy_queued(stream, (Handle)to, from, size) : INVALID_VALUE);
}
int cuMemcpyDtoDAsync(Handle to, Handle from, size_t size, Handle stream) {
  ENTER("cuMemcpyDtoDAsync") IN_CONTEXT
  LEAVE(inside(from, size) && inside(to, size) ? copy_queued(stream, to, from, size) : INVALID_VALUE);
}
int cuMemsetD8Async(Handle to, unsigned char value, size_t size, Handle stream) {
  ENTER("cuMemsetD8Async") IN_CONTEXT
  if (!inside(to, size)) LEAVE(INVALID_VALUE);
  Work work = {.kind = SET, .to = to, .value = value, .size = size};
  LEAVE(queued(stream, copied(&work)));
}
int cuStreamCreate(Handle *handle, unsigned flags) {
  ENTER("cuStreamCreate") IN_CONTEXT
  Stream *stream = calloc(1, sizeof *stream);
  stream->next = streams;
  streams = stream;
  *handle = (Handle)stream;
  LEAVE(SUCCESS);
}
int cuStreamDestroy(Handle handle) {
  ENTER("cuStreamDestroy") IN_CONTEXT
  for (Stream **s = &streams; *s; s = &(*s)->next)
    if (*s == (Stream *)handle) { drained(*s); *s = (*s)->next; LEAVE(SUCCESS); }
  LEAVE(INVALID_VALUE);
}
int cuStreamSynchronize(Handle handle) {
  ENTER("cuStreamSynchronize") IN_CONTEXT
  LEAVE(stream_of(handle)->graph ? CAPTURE_UNSUPPORTED : drained(stream_of(handle)));
}
int cuStreamBeginCapture(Handle handle, int mode) {
  ENTER("cuStreamBeginCapture") IN_CONTEXT
  if (handle <= 2 || stream_of(handle)->graph) LEAVE(CAPTURE_UNSUPPORTED);
  stream_of(handle)->graph = calloc(1, sizeof(Queue));
  LEAVE(SUCCESS);
}
int cuStreamEndCapture(Handle handle, Handle *graph) {
  ENTER("cuStreamEndCapture") IN_CONTEXT
  *graph = (Handle)stream_of(handle)->graph;
  stream_of(handle)->graph = 0;
  LEAVE(*graph ? SUCCESS : INVALID_VALUE);
}
// An event stands for all the work of its stream, which is done where another stream waits for it.
int cuEventCreate(Handle *event, unsigned flags) {
  ENTER("cuEventCreate") IN_CONTEXT *event = (Handle)calloc(1, sizeof(Handle)); LEAVE(SUCCESS);
}
int cuEventRecord(Handle event, Handle stream) {
  ENTER("cuEventRecord") IN_CONTEXT *(Handle *)event = (Handle)stream_of(stream); LEAVE(SUCCESS);
}
int cuStreamWaitEvent(Handle stream, Handle event, unsigned flags) {
  ENTER("cuStreamWaitEvent") IN_CONTEXT LEAVE(drained(*(Stream **)event));
}
int cuEventDestroy(Handle event) { ENTER("cuEventDestroy") IN_CONTEXT free((void *)event); LEAVE(SUCCESS); }

// ---- kernels ----
static Kernel kernels[MOST_NAMES];
static int known;
// How many pointers the kernel of this name takes: a driver reads that from the machine code.
void standin_kernel(const char *entry, int count) {
  strncpy(kernels[known].entry, entry, 511);
  kernels[known++].count = count;
}
int cuLibraryLoadData(Handle *library, const void *code, void *o, void *v, unsigned n, void *p, void *w, unsigned m) {
  ENTER("cuLibraryLoadData") IN_CONTEXT
  if (memcmp(code, "\177ELF", 4)) LEAVE(INVALID_VALUE);
  *library = (Handle)code;
  LEAVE(SUCCESS);
}
int cuLibraryUnload(Handle library) { ENTER("cuLibraryUnload") IN_CONTEXT LEAVE(SUCCESS); }
int cuLibraryGetKernel(Handle *kernel, Handle library, const char *entry) {
  ENTER("cuLibraryGetKernel") IN_CONTEXT
  for (int i = 0; i < known; i++)
    if (!strcmp(kernels[i].entry, entry)) { *kernel = (Handle)&kernels[i]; LEAVE(SUCCESS); }
  LEAVE(NOT_FOUND);
}
int cuLaunchKernel(Handle kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, Handle stream, void **params, void **extra) {
  ENTER("cuLaunchKernel") IN_CONTEXT
  if (!gx || !bx || bx > 1024) LEAVE(INVALID_VALUE);
  Work work = {.kind = KERNEL, .kernel = (Kernel *)kernel, .shape = {gx, gy, gz, bx, by, bz}};
  for (int i = 0; i < work.kernel->count; i++) work.params[i] = *(uint64_t *)params[i];
  LEAVE(queued(stream, copied(&work)));
}

// ---- graphs: an executable one is a copy ----
static Queue *graph_copied(const Queue *graph) {
  Queue *copy = calloc(1, sizeof *copy);
  for (Work *work = graph->first; work; work = work->next) append(copy, copied(work));
  return copy;
}
int cuGraphInstantiateWithFlags(Handle *executable, Handle graph, unsigned long long flags) {
  ENTER("cuGraphInstantiate") IN_CONTEXT *executable = (Handle)graph_copied((Queue *)graph); LEAVE(SUCCESS);
}
int cuGraphUpload(Handle executable, Handle stream) { ENTER("cuGraphUpload") IN_CONTEXT LEAVE(SUCCESS); }
int cuGraphLaunch(Handle executable, Handle stream) {
  ENTER("cuGraphLaunch") IN_CONTEXT
  for (Work *work = ((Queue *)executable)->first; work; work = work->next) queued(stream, copied(work));
  LEAVE(SUCCESS);
}
int cuGraphExecUpdate(Handle executable, Handle graph, void *info) {
  ENTER("cuGraphExecUpdate") IN_CONTEXT
  memset(info, 0, 24);
  Queue *fresh = graph_copied((Queue *)graph);
  Work *a = ((Queue *)executable)->first, *b = fresh->first;
  for (; a && b && a->kind == b->kind && a->kernel == b->kernel; a = a->next) b = b->next;
  if (a || b) LEAVE(UPDATE_FAILURE);
  *(Queue *)executable = *fresh;
  LEAVE(SUCCESS);
}
int cuGraphDestroy(Handle graph) { ENTER("cuGraphDestroy") LEAVE(SUCCESS); }
int cuGraphExecDestroy(Handle executable) { ENTER("cuGraphExecDestroy") LEAVE(SUCCESS); }

// ---- errors, and how the bindings find all this ----
int cuGetErrorName(int error, const char **text) {
  static __thread char name[32];
  snprintf(name, sizeof name, error == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_%d", error);
  *text = name;
  return SUCCESS;
}
int cuGetErrorString(int error, const char **text) { *text = "said by the stand-in"; return SUCCESS; }
static int unknown(void) { return NOT_SUPPORTED; }

#define KNOWN(name) {#name, (void *)name}
static struct { const char *name; void *function; } functions[] = {
  KNOWN(cuInit), KNOWN(cuDriverGetVersion), KNOWN(cuDeviceGetCount), KNOWN(cuDeviceGet), KNOWN(cuDeviceGetName),
  KNOWN(cuDeviceGetAttribute), KNOWN(cuDevicePrimaryCtxRetain), KNOWN(cuCtxPushCurrent), KNOWN(cuCtxPopCurrent),
  KNOWN(cuMemGetInfo), KNOWN(cuMemAlloc), KNOWN(cuMemFree), KNOWN(cuMemHostAlloc), KNOWN(cuMemFreeHost), KNOWN(cuMemcpyHtoDAsync), KNOWN(cuMemcpyDtoHAsync),
  KNOWN(cuMemcpyDtoDAsync), KNOWN(cuMemsetD8Async), KNOWN(cuStreamCreate), KNOWN(cuStreamDestroy),
  KNOWN(cuStreamSynchronize), KNOWN(cuStreamBeginCapture), KNOWN(cuStreamEndCapture), KNOWN(cuEventCreate),
  KNOWN(cuEventRecord), KNOWN(cuStreamWaitEvent), KNOWN(cuEventDestroy), KNOWN(cuLibraryLoadData),
  KNOWN(cuLibraryUnload), KNOWN(cuLibraryGetKernel), KNOWN(cuLaunchKernel), KNOWN(cuGraphInstantiateWithFlags),
  KNOWN(cuGraphUpload), KNOWN(cuGraphLaunch), KNOWN(cuGraphExecUpdate), KNOWN(cuGraphDestroy),
  KNOWN(cuGraphExecDestroy), KNOWN(cuGetErrorName), KNOWN(cuGetErrorString),
};
int cuGetProcAddress_v2(const char *name, void **function, int version, unsigned long long flags, int *status) {
  if (status) *status = 0;
  *function = (void *)unknown;
  if (!strncmp(name, "cuGetProcAddress", 16)) *function = (void *)cuGetProcAddress_v2;
  for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++)
    if (!strcmp(functions[i].name, name)) *function = functions[i].function;
  return SUCCESS;
}
int cuGetProcAddress(const char *name, void **function, int version, unsigned long long flags) {
  return cuGetProcAddress_v2(name, function, version, flags, 0);
}

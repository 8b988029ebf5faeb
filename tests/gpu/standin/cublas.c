// A stand-in for libcublas.so.13, after NVIDIA's description of cublasGemmStridedBatchedEx: matrices lie by columns,
// element (i, j) of one with leading size ld is at i + j * ld, and C = alpha op(A) op(B) + beta C.
//
// It knows nothing of what calls it. It refuses what the description rules out, and addresses beyond allocations.
#include <stdint.h>
#include <stdlib.h>

enum { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, EXECUTION_FAILED = 13, NOT_SUPPORTED = 15 };
enum { REAL_32 = 0, REAL_64 = 1, COMPUTE_32 = 68, COMPUTE_64 = 70 };
size_t standin_room(uintptr_t address);
int standin_enqueue(uintptr_t stream, void (*function)(void *), const void *data, size_t size);

typedef struct { uintptr_t stream; void *workspace; size_t workspace_bytes; } Library;
typedef struct {
  int trans_a, trans_b, type;
  int64_t m, n, k, lda, ldb, ldc, step_a, step_b, step_c, batch;
  double alpha, beta;
  const char *a, *b;
  char *c;
} Product;
static long products, bare;
long standin_products(void) { return products; }
long standin_products_without_workspace(void) { return bare; }

int cublasCreate_v2(Library **library) { *library = calloc(1, sizeof **library); return SUCCESS; }
int cublasDestroy_v2(Library *library) { free(library); return SUCCESS; }
int cublasSetStream_v2(Library *library, uintptr_t stream) {
  library->stream = stream;
  library->workspace_bytes = 0;  // back to the library's own
  return SUCCESS;
}
int cublasSetWorkspace_v2(Library *library, void *workspace, size_t size) {
  if ((uintptr_t)workspace % 256 || standin_room((uintptr_t)workspace) < size) return INVALID_VALUE;
  library->workspace = workspace;
  library->workspace_bytes = size;
  return SUCCESS;
}
const char *cublasGetStatusName(int status) {
  return status == INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE" : "CUBLAS_STATUS_OTHER";
}

static double get(const Product *p, const char *matrix, int64_t at) {
  return p->type == REAL_32 ? ((const float *)matrix)[at] : ((const double *)matrix)[at];
}
static void multiply(void *data) {
  Product *p = data;
  for (int64_t l = 0; l < p->batch; l++)
    for (int64_t j = 0; j < p->n; j++)
      for (int64_t i = 0; i < p->m; i++) {
        double sum = 0;
        for (int64_t h = 0; h < p->k; h++) {
          int64_t a = l * p->step_a + (p->trans_a ? h + i * p->lda : i + h * p->lda);
          int64_t b = l * p->step_b + (p->trans_b ? j + h * p->ldb : h + j * p->ldb);
          sum += get(p, p->a, a) * get(p, p->b, b);
        }
        int64_t c = l * p->step_c + i + j * p->ldc;
        double value = p->alpha * sum;
        if (p->beta != 0) value += p->beta * get(p, p->c, c);  // else C is not read
        if (p->type == REAL_32) ((float *)p->c)[c] = (float)value; else ((double *)p->c)[c] = value;
      }
}

// Whether `count` matrices of this size, by columns, lie in one allocation.
static int inside(const void *matrix, int64_t rows, int64_t columns, int64_t ld, int64_t step, int64_t count, int width) {
  if (!rows || !columns || !count) return 1;
  int64_t last = step * (count - 1) + (columns - 1) * ld + rows;
  return standin_room((uintptr_t)matrix) >= (size_t)last * width;
}

int cublasGemmStridedBatchedEx_64(
    Library *library, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, const void *alpha,
    const void *a, int a_type, int64_t lda, int64_t step_a, const void *b, int b_type, int64_t ldb, int64_t step_b,
    const void *beta, void *c, int c_type, int64_t ldc, int64_t step_c, int64_t batch, int compute, int algorithm) {
  if (!library) return NOT_INITIALIZED;
  if (a_type != b_type || b_type != c_type || compute != (c_type == REAL_32 ? COMPUTE_32 : COMPUTE_64))
    return NOT_SUPPORTED;
  if ((unsigned)trans_a > 1 || (unsigned)trans_b > 1 || m < 0 || n < 0 || k < 0 || batch < 0) return INVALID_VALUE;
  int64_t a_rows = trans_a ? k : m, b_rows = trans_b ? n : k;
  if (lda < 1 || lda < a_rows || ldb < 1 || ldb < b_rows || ldc < 1 || ldc < m) return INVALID_VALUE;
  int width = c_type == REAL_32 ? 4 : 8;
  if (!inside(a, a_rows, trans_a ? m : k, lda, step_a, batch, width) ||
      !inside(b, b_rows, trans_b ? k : n, ldb, step_b, batch, width) ||
      !inside(c, m, n, ldc, step_c, batch, width))
    return EXECUTION_FAILED;
  products++;
  bare += !library->workspace_bytes;
  int single = c_type == REAL_32;
  Product product = {
      trans_a, trans_b, c_type, m, n, k, lda, ldb, ldc, step_a, step_b, step_c, batch,
      single ? *(const float *)alpha : *(const double *)alpha, single ? *(const float *)beta : *(const double *)beta,
      a, b, c};
  return standin_enqueue(library->stream, multiply, &product, sizeof product);
}

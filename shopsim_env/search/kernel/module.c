/* Python's view of the kernel: the type `Index`. Limited API of CPython 3.10; searches release the GIL. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "kernel.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  PyObject_HEAD
  Arrays arrays;
  Scratch *idle; /* work spaces not in use; guarded by the GIL */
} Index;

static PyObject *index_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  PyObject *path = NULL;
  if (kwargs && PyDict_Size(kwargs)) {
    PyErr_SetString(PyExc_TypeError, "Index() takes no keyword arguments");
    return NULL;
  }
  if (!PyArg_ParseTuple(args, "O&:Index", PyUnicode_FSConverter, &path)) return NULL;
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  Index *self = (Index *)allocate(type, 0);
  if (self) {
    const char *problem = arrays_open(&self->arrays, PyBytes_AsString(path));
    if (problem) {
      PyErr_SetString(PyExc_ValueError, problem);
      Py_DECREF(self);
      self = NULL;
    }
  }
  Py_DECREF(path);
  return (PyObject *)self;
}

static void index_dealloc(PyObject *object) {
  Index *self = (Index *)object;
  PyTypeObject *type = Py_TYPE(object);
  while (self->idle) {
    Scratch *next = self->idle->next;
    scratch_free(self->idle);
    self->idle = next;
  }
  arrays_close(&self->arrays);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

/* Terms of `tokens` in order. Unknown tokens that FTS5 reads as phrases are appended to `unseen`. */
static int read_terms(const Arrays *arrays, PyObject *tokens, int64_t *terms, PyObject *unseen) {
  Py_ssize_t n = PyList_Size(tokens);
  int count = 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *token = PyList_GetItem(tokens, i);
    Py_ssize_t bytes = 0;
    const char *text = PyUnicode_AsUTF8AndSize(token, &bytes);
    if (!text) return -1;
    int64_t term = arrays_term(arrays, text, (size_t)bytes);
    if (term >= 0)
      terms[count++] = term;
    else if (strpbrk(text, "-._+/") && PyList_Append(unseen, token))
      return -1;
  }
  return count;
}

static PyObject *results(const Arrays *arrays, const Hit *hits, int n) {
  PyObject *asins = PyList_New(n), *scores = PyList_New(n);
  for (int i = 0; asins && scores && i < n; i++) {
    uint32_t from = arrays->asin_at[hits[i].row], to = arrays->asin_at[hits[i].row + 1];
    PyObject *asin = PyUnicode_FromStringAndSize(arrays->asin_text + from, (Py_ssize_t)(to - from));
    PyObject *score = PyFloat_FromDouble(hits[i].score);
    if (!asin || !score) {
      Py_XDECREF(asin), Py_XDECREF(score);
      Py_CLEAR(asins);
      break;
    }
    PyList_SetItem(asins, i, asin);
    PyList_SetItem(scores, i, score);
  }
  if (!asins || !scores) {
    Py_XDECREF(asins), Py_XDECREF(scores);
    return NULL;
  }
  return Py_BuildValue("(NN)", asins, scores);
}

static PyObject *rank(Index *self, const int64_t *terms, int count, int k, const uint8_t *mask) {
  Scratch *scratch = self->idle ? self->idle : scratch_new();
  Hit *hits = malloc((size_t)k * sizeof *hits);
  if (!scratch || !hits) {
    free(hits);
    if (scratch != self->idle) scratch_free(scratch);
    return PyErr_NoMemory();
  }
  if (scratch == self->idle) self->idle = scratch->next;
  int n;
  Py_BEGIN_ALLOW_THREADS
  n = rank_rows(&self->arrays, scratch, count, terms, mask, k, hits);
  Py_END_ALLOW_THREADS
  scratch->next = self->idle;
  self->idle = scratch;
  PyObject *found = n < 0 ? PyErr_NoMemory() : results(&self->arrays, hits, n);
  free(hits);
  return found;
}

static PyObject *index_search(PyObject *object, PyObject *args) {
  Index *self = (Index *)object;
  PyObject *tokens, *unseen, *mask;
  int k;
  if (!PyArg_ParseTuple(args, "O!iOO!:search", &PyList_Type, &tokens, &k, &mask, &PyList_Type, &unseen))
    return NULL;
  if (mask != Py_None && (!PyBytes_Check(mask) || PyBytes_Size(mask) < (self->arrays.products + 7) / 8)) {
    PyErr_SetString(PyExc_ValueError, "mask: expected None or bytes with one bit for each product");
    return NULL;
  }
  if (k > self->arrays.products) k = (int)self->arrays.products;
  int64_t *terms = malloc(((size_t)PyList_Size(tokens) + 1) * sizeof *terms);
  if (!terms) return PyErr_NoMemory();
  int count = read_terms(&self->arrays, tokens, terms, unseen);
  PyObject *found = NULL;
  if (count == 0 || (count > 0 && k <= 0))
    found = Py_BuildValue("([][])");
  else if (count > 0)
    found = rank(self, terms, count, k, mask == Py_None ? NULL : (const uint8_t *)PyBytes_AsString(mask));
  free(terms);
  return found;
}

static PyMethodDef index_methods[] = {
    {"search", index_search, METH_VARARGS,
     "search(tokens, k, mask, unseen) -> (asins, scores)\n\nAppends unknown phrase tokens to `unseen`."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot index_slots[] = {{Py_tp_new, index_new},
                                    {Py_tp_dealloc, index_dealloc},
                                    {Py_tp_methods, index_methods},
                                    {Py_tp_doc, "Index(path): a mapped array file."},
                                    {0, NULL}};

static PyType_Spec index_spec = {"shopsim_env.search._kernel.Index", sizeof(Index), 0, Py_TPFLAGS_DEFAULT,
                                 index_slots};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_kernel", "Compiled search kernel.", -1, NULL,
                                        NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernel(void) {
  PyObject *module = PyModule_Create(&definition);
  PyObject *type = PyType_FromSpec(&index_spec);
  if (!module || !type || PyModule_AddObject(module, "Index", type)) {
    Py_XDECREF(type), Py_XDECREF(module);
    return NULL;
  }
  return module;
}

/* Scores of a model of rankwright, the same bits as its predict gives.
 *
 * x has a value for each of model_names, in this order; NAN if it is missing.
 * Products and sums must be rounded one by one, so this does not compile with -ffast-math or x87
 * arithmetic. */
#ifndef RANKWRIGHT_model_H
#define RANKWRIGHT_model_H

#include <float.h>
#include <math.h>

#if defined(__FAST_MATH__) || !defined(FLT_EVAL_METHOD) || FLT_EVAL_METHOD < 0 || \
    FLT_EVAL_METHOD > 1
#error "model: doubles must be rounded as doubles; compile without -ffast-math, with -mfpmath=sse"
#endif

enum { model_n_features = 3, model_n_trees = 2 };
static const char *const model_names[] = {
    "bm25",
    "price",
    "age"};
static const int model_feature[] = {
    1, 0, 1, 1, 0, 1};
static const double model_cut[] = {
    1.0000000180025095e-35, -1.059741973876953, -1.0000000180025096e-35,
    -1.0000000180025096e-35, -0.33067996799945826, 1.5000000000000002};
static const int model_missing_left[] = {
    1, 0, 0, 0, 0, 1};
static const int model_left[] = {
    2, -2, -1, -5, 5, -6};
static const int model_right[] = {
    1, -3, -4, 4, -7, -8};
static const int model_root[] = {
    0, 3};
static const double model_leaf[] = {
    -0.07186033902933159, -0.005197165898774588, 0.09343563887867194, -0.0071334697603764865,
    -0.06990928881933955, -0.04233803132228405, 0.0679900130087817, 0.05817774128175116};
static const double model_weight[] = {
    0.5, -0.1, 0.0};
static const double model_bias[] = {
    0.3};
static const double model_fill[] = {
    1.5, 0.1, 0.0};

static inline double model_at(const double *x, const float *f, int j) {
    const double v = x ? x[j] : (double)f[j];
    return v == v ? v : x ? model_fill[j] : (double)(float)model_fill[j];
}

static inline double model_as_given(const double *x, const float *f, int j) {
    const double v = x ? x[j] : (double)f[j];
    return v;
}

static inline double model_trees(const double *x, const float *f, int k) {
    double s = 0.0;
    (void)k;
    for (int tree = 0; tree < model_n_trees; ++tree) {
        int i = model_root[tree];
        while (i >= 0) {
            const double v = model_as_given(x, f, model_feature[i]);
            const int left = v <= model_cut[i] || (v != v && model_missing_left[i]);
            i = left ? model_left[i] : model_right[i];
        }
        s += model_leaf[~i];
    }
    return s;
}

static inline double model_linear(const double *x, const float *f, int k) {
    const double *w = model_weight + (long)k * model_n_features;
    double lane[8] = {0.0}, rest = 0.0;
    const int whole = model_n_features / 8 * 8;
    for (int j = 0; j < model_n_features; ++j) {
        volatile double product = w[j] * model_at(x, f, j);
        if (j < whole)
            lane[j % 8] += product;
        else
            rest += product;
    }
    for (int l = 0; l < 4; ++l) lane[l] += lane[l + 4];
    return (lane[0] + lane[1]) + (lane[2] + lane[3]) + rest + model_bias[k];
}

static inline double model_sum(const double *x, const float *f, int k) {
    return model_trees(x, f, k) + model_linear(x, f, k);
}

static inline double model_score(const double *x) { return model_sum(x, 0, 0); }
static inline double model_score_float(const float *x) { return model_sum(0, x, 0); }

#endif

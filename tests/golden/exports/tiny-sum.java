/**
 * Scores of a model of rankwright, the same bits as its predict gives.
 *
 * <p>x has a value for each of names(), in this order; NaN if it is missing.
 */
public final class model {
    private model() {}

    private static final java.util.List<String> NAMES = lines("bm25\nprice\nage");

    public static java.util.List<String> names() {
        return NAMES;
    }

    private static final int[] FEATURE = integers(
        "1 0 1 1 0 1");
    private static final double[] CUT = numbers(
        "1.0000000180025095e-35 -1.059741973876953 -1.0000000180025096e-35 -1.0000000180025096e-35 -0.33067996799945826 1.5000000000000002");
    private static final int[] MISSING_LEFT = integers(
        "1 0 0 0 0 1");
    private static final int[] LEFT = integers(
        "2 -2 -1 -5 5 -6");
    private static final int[] RIGHT = integers(
        "1 -3 -4 4 -7 -8");
    private static final int[] ROOT = integers(
        "0 3");
    private static final double[] LEAF = numbers(
        "-0.07186033902933159 -0.005197165898774588 0.09343563887867194 -0.0071334697603764865 -0.06990928881933955 -0.04233803132228405 0.0679900130087817 0.05817774128175116");
    private static final double[] WEIGHT = numbers(
        "0.5 -0.1 0.0");
    private static final double[] BIAS = numbers(
        "0.3");
    private static final double[] FILL = numbers(
        "1.5 0.1 0.0");

    private static double trees(double[] x, int k) {
        double s = 0.0;
        for (int i : ROOT) {
            while (i >= 0) {
                double v = x[FEATURE[i]];
                boolean left = v <= CUT[i] || (v != v && MISSING_LEFT[i] != 0);
                i = left ? LEFT[i] : RIGHT[i];
            }
            s += LEAF[~i];
        }
        return s;
    }

    private static double linear(double[] x, int k) {
        double[] lane = new double[8];
        double rest = 0.0;
        int n = WEIGHT.length / BIAS.length, whole = n / 8 * 8;
        for (int j = 0; j < n; ++j) {
            double v = x[j] != x[j] ? FILL[j] : x[j];
            if (j < whole) {
                lane[j % 8] += WEIGHT[k * n + j] * v;
            } else {
                rest += WEIGHT[k * n + j] * v;
            }
        }
        for (int l = 0; l < 4; ++l) {
            lane[l] += lane[l + 4];
        }
        return (lane[0] + lane[1]) + (lane[2] + lane[3]) + rest + BIAS[k];
    }

    public static double score(double[] x) {
        return trees(x, 0) + linear(x, 0);
    }

    public static double score(float[] x) {
        return trees(asGiven(x), 0) + linear(doubles(x), 0);
    }

    private static double[] asGiven(float[] x) {
        double[] y = new double[x.length];
        for (int j = 0; j < x.length; ++j) {
            y[j] = x[j];
        }
        return y;
    }

    private static double[] doubles(float[] x) {
        double[] y = new double[x.length];
        for (int j = 0; j < x.length; ++j) {
            y[j] = x[j] != x[j] ? (float) FILL[j] : x[j];
        }
        return y;
    }

    private static double[] numbers(String... texts) {
        return java.util.Arrays.stream(texts)
            .flatMap(text -> java.util.Arrays.stream(text.split(" ")))
            .mapToDouble(Double::parseDouble)
            .toArray();
    }

    private static int[] integers(String... texts) {
        return java.util.Arrays.stream(numbers(texts)).mapToInt(v -> (int) v).toArray();
    }

    private static java.util.List<String> lines(String... texts) {
        return java.util.Arrays.stream(texts)
            .flatMap(text -> java.util.Arrays.stream(text.split("\n")))
            .collect(java.util.stream.Collectors.toUnmodifiableList());
    }
}

namespace Tunnel2.Telemetry.Records;

/// <summary>
/// The numbers in <see cref="RequestRecord.ErrorCode"/> for the codes of the <c>Tunnel2-Error</c> field. Part of the record's layout:
/// numbers are added, and never reused for another code. Immutable.
/// </summary>
internal static class RequestErrorCodes
{
    /// <summary>No error.</summary>
    internal const ushort None = 0;

    /// <summary>The visitor left before the end.</summary>
    internal const ushort VisitorLeft = 1;

    /// <summary>A code that has no number here.</summary>
    internal const ushort Other = 2;

    /// <summary>
    /// The service itself answered with a status of 500 or above. Never in a record, which has the status: aggregation counts it as an
    /// error of this name.
    /// </summary>
    internal const ushort BackendStatus = 3;

    private static readonly Dictionary<ushort, string> _names = new()
    {
        [VisitorLeft] = "visitor-left",
        [Other] = "other",
        [BackendStatus] = "backend-5xx",
        [10] = "bad-request",
        [11] = "invalid-host",
        [12] = "request-target-too-long",
        [13] = "request-head-too-large",
        [14] = "request-body-too-large",
        [15] = "request-timeout",
        [16] = "method-not-supported",
        [17] = "visitor-stalled",
        [20] = "unknown-host",
        [21] = "unknown-name",
        [22] = "not-http",
        [30] = "agent-offline",
        [31] = "agent-refused",
        [32] = "uplink-lost",
        [33] = "agent-failed",
        [40] = "backend-refused",
        [41] = "backend-unreachable",
        [42] = "backend-name-not-resolved",
        [43] = "backend-connect-timeout",
        [44] = "backend-tls-failed",
        [45] = "backend-closed",
        [46] = "backend-protocol",
        [47] = "backend-head-too-large",
        [48] = "backend-timeout",
        [49] = "body-idle-timeout",
        [50] = "backend-speaks-tls",
        [51] = "backend-speaks-http2",
        [52] = "backend-not-tls",
        [53] = "backend-connection-limit",
        [54] = "backend-stalled",
        [55] = "backend-busy",
        [60] = "stream-limit",
        [61] = "rate-limit",
        [62] = "draining",
        [63] = "loop-detected",
        [64] = "internal-error",
        [65] = "places-taken",
        [70] = "address-not-allowed",
        [71] = "login-required",
        [72] = "too-many-logins",
        [73] = "token-required",
        [74] = "token-invalid",
        [75] = "token-expired",
        [76] = "token-unchecked",
        [77] = "sign-in-required",
        [78] = "sign-in-needs-https",
        [79] = "sign-in-failed",
        [80] = "user-not-allowed",
        [81] = "sign-in-unavailable",
        [82] = "policy-denied",
        [83] = "policy-rate-limit",
        [84] = "webhook-signature",
        [85] = "webhook-body-too-large",
        [86] = "webhook-busy",
        [87] = "node-unreachable",
        [88] = "node-lost",
        [89] = "name-unchecked",
        [90] = "certificate-required",
        [91] = "certificate-invalid",
        [92] = "misdirected",
    };

    private static readonly Dictionary<string, ushort> _numbers = _names.ToDictionary(
        pair => pair.Value, pair => pair.Key, StringComparer.Ordinal);

    /// <summary>The number of a code; <see cref="Other"/> if it has none.</summary>
    internal static ushort Number(string code) => _numbers.GetValueOrDefault(code, Other);

    /// <summary>The code of a number; null for success, the number itself if this build does not know it.</summary>
    internal static string? Name(ushort number) =>
        number == None ? null : _names.TryGetValue(number, out string? name) ? name : $"error-{number}";
}

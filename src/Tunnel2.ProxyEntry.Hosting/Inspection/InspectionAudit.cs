using Tunnel2.Inspection.Serving;
using Tunnel2.ProxyEntry.Diagnostics;

namespace Tunnel2.ProxyEntry.Inspection;

/// <summary>
/// Writes to the log which replays an administrator sends and which secrets are shown. A page asks for the same again and again while it
/// is open: the same thing shown to the same address is one line a minute. Thread-safe.
/// </summary>
internal sealed class InspectionAudit : IInspectorAudit
{
    /// <summary>How many things that were shown are remembered; with more, lines are repeated and none is left out.</summary>
    public const int MostRemembered = 1024;

    /// <summary>How long one line is enough for the same thing.</summary>
    public static readonly TimeSpan Repeats = TimeSpan.FromMinutes(1);

    private readonly Lock _gate = new();
    private readonly Dictionary<(string Session, string What, string? By), long> _shown = [];
    private readonly TimeProvider _time;
    private readonly ILogger _logger;

    public InspectionAudit(TimeProvider time, ILogger<InspectionAudit> logger)
    {
        _time = time;
        _logger = logger;
    }

    /// <inheritdoc/>
    public void ReplaySent(IInspectedSession session, long exchange, bool isChanged, string? by) =>
        ProxyEntryLog.ReplaySent(_logger, by, exchange, session.Name, isChanged ? "changed" : "as it was");

    /// <inheritdoc/>
    public void SecretsShown(IInspectedSession session, string what, string? by)
    {
        lock (_gate)
        {
            var key = (session.Name, what, by);
            if (_shown.TryGetValue(key, out var last) && _time.GetElapsedTime(last) < Repeats)
            {
                return;
            }

            if (_shown.Count >= MostRemembered)
            {
                _shown.Clear();
            }

            _shown[key] = _time.GetTimestamp();
        }

        ProxyEntryLog.SecretsShown(_logger, by, session.Name, what);
    }
}

using Tunnel2.Transport.Engine;

namespace Tunnel2.Transport.Supervision;

/// <summary>
/// Whether each event loop of an engine has done a round between two looks. One thread at a time looks; the loops are asked for a round
/// and never waited for.
/// </summary>
internal sealed class LoopPulse
{
    private readonly IEngine _engine;
    private readonly Dictionary<int, long> _rounds = [];

    public LoopPulse(IEngine engine)
    {
        _engine = engine;
    }

    /// <summary>
    /// Whether all loops have done a round since the last look; a loop that was not there then counts as one that has. Asks each for
    /// another round. An engine without loops of its own always has.
    /// </summary>
    public bool Look()
    {
        var beats = true;
        foreach (var loop in _engine.Loops)
        {
            var rounds = loop.Statistics.Rounds;
            if (loop.Failure is not null || (_rounds.TryGetValue(loop.Number, out var before) && before == rounds))
            {
                beats = false;
            }

            _rounds[loop.Number] = rounds;
            loop.AskForSign();
        }

        return beats;
    }
}

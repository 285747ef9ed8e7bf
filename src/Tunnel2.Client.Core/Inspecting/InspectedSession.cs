using Tunnel2.Client.Core.Configuration;
using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Masking;
using Tunnel2.Inspection.Replays;
using Tunnel2.Inspection.Serving;

namespace Tunnel2.Client.Core.Inspecting;

/// <summary>A tunnel of this agent, for the inspector.</summary>
internal sealed class InspectedSession : IInspectedSession
{
    private readonly AgentInspection _inspection;
    private readonly Replayer _replayer;

    /// <param name="options">The tunnel's options, with their <see cref="AgentOptions.Inspection"/>.</param>
    /// <param name="time">The clock.</param>
    public InspectedSession(AgentOptions options, TimeProvider time)
    {
        _inspection = options.Inspection ?? throw new ArgumentException("The tunnel is not inspected.", nameof(options));
        Name = options.Name;
        Upstream = options.Upstream.ToString();
        Rules = new MaskingRules(options.InspectorMasks);
        _replayer = new Replayer(options, _inspection, time);
    }

    /// <inheritdoc/>
    public string Name { get; }

    /// <inheritdoc/>
    public ExchangeStore Store => _inspection.Store;

    /// <inheritdoc/>
    public MaskingRules Rules { get; }

    /// <inheritdoc/>
    public IReadOnlyList<string> PublicUrls => _inspection.PublicUrls;

    /// <inheritdoc/>
    public bool IsCutOff => _inspection.OpenSessions == 0;

    /// <inheritdoc/>
    public string Upstream { get; }

    /// <inheritdoc/>
    public DateTimeOffset? Until => null;

    /// <inheritdoc/>
    public Task<ReplayResult> ReplayAsync(ReplayRequest request, CancellationToken cancellationToken) =>
        _replayer.ReplayAsync(request, cancellationToken);
}

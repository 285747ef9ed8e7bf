using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Masking;
using Tunnel2.Inspection.Replays;

namespace Tunnel2.Inspection.Serving;

/// <summary>A session whose exchanges are kept. Thread-safe.</summary>
internal interface IInspectedSession
{
    /// <summary>Its name.</summary>
    string Name { get; }

    /// <summary>Its exchanges.</summary>
    ExchangeStore Store { get; }

    /// <summary>What is secret.</summary>
    MaskingRules Rules { get; }

    /// <summary>The public URLs; empty until there is a session.</summary>
    IReadOnlyList<string> PublicUrls { get; }

    /// <summary>Whether this program has no connection to its server now, so that no visitor reaches the tunnel.</summary>
    bool IsCutOff { get; }

    /// <summary>The service, as the user wrote it.</summary>
    string Upstream { get; }

    /// <summary>Until when it is inspected; null: for as long as it runs.</summary>
    DateTimeOffset? Until { get; }

    /// <summary>Sends a request again.</summary>
    Task<ReplayResult> ReplayAsync(ReplayRequest request, CancellationToken cancellationToken);
}

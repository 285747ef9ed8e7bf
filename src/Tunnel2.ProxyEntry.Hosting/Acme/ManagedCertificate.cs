using Tunnel2.ProxyEntry.Certificates;

namespace Tunnel2.ProxyEntry.Acme;

/// <summary>A certificate that is renewed by itself. Of one task.</summary>
internal sealed class ManagedCertificate
{
    private (DateTimeOffset Start, DateTimeOffset End)? _window;

    /// <param name="named">The certificate.</param>
    /// <param name="id">Its id for its authority, or null.</param>
    public ManagedCertificate(NamedCertificate named, string? id)
    {
        Named = named;
        Id = id;
        RenewAt = Begin + (Life * 2 / 3);
    }

    /// <summary>The certificate.</summary>
    public NamedCertificate Named { get; }

    /// <summary>Its id for its authority, or null.</summary>
    public string? Id { get; }

    /// <summary>When it is renewed: after two thirds of its life, or when its authority says.</summary>
    public DateTimeOffset RenewAt { get; private set; }

    /// <summary>When its authority is asked again when to renew.</summary>
    public DateTimeOffset AskAt { get; set; } = DateTimeOffset.MinValue;

    /// <summary>When it ends.</summary>
    public DateTimeOffset End => new(Named.Certificate.NotAfter, TimeSpan.Zero);

    private DateTimeOffset Begin => new(Named.Certificate.NotBefore, TimeSpan.Zero);

    private TimeSpan Life => End - Begin;

    /// <summary>An operator wants it to be renewed.</summary>
    public void RenewFrom(DateTimeOffset now) => RenewAt = now;

    /// <summary>
    /// The authority says when to renew. A moment inside the window stays chosen while the window is the same. A window that begins after
    /// the certificate's end is no help. One that wants a new certificate at once, again and again, is held off for a tenth of the life.
    /// </summary>
    public void Suggest(DateTimeOffset start, DateTimeOffset end)
    {
        if (start >= End || (start, end) == _window)
        {
            return;
        }

        _window = (start, end);
        var chosen = RenewalInfo.Choose(start, end < End ? end : End);
        var earliest = Begin + (Life / 10);
        RenewAt = chosen > earliest ? chosen : earliest;
    }
}

using Tunnel2.ProxyEntry.Certificates;

namespace Tunnel2.ProxyEntry.Acme;

/// <summary>
/// A certificate that is renewed by itself. Changed by one thread at a time; any thread may ask when it is renewed.
/// </summary>
internal sealed class ManagedCertificate
{
    private (DateTimeOffset Start, DateTimeOffset End)? _window;
    private long _renewAt;
    private long _askAt;

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
    public DateTimeOffset RenewAt
    {
        get => new(Volatile.Read(ref _renewAt), TimeSpan.Zero);
        private set => Volatile.Write(ref _renewAt, value.UtcTicks);
    }

    /// <summary>When its authority is asked again when to renew.</summary>
    public DateTimeOffset AskAt
    {
        get => new(Volatile.Read(ref _askAt), TimeSpan.Zero);
        set => Volatile.Write(ref _askAt, value.UtcTicks);
    }

    /// <summary>All of this, for other nodes; null where its authority knows it by no id.</summary>
    public AcmeWindow? Window => Id is null ? null : new AcmeWindow(Id, RenewAt, AskAt, _window);

    /// <summary>When it ends.</summary>
    public DateTimeOffset End => new(Named.Certificate.NotAfter, TimeSpan.Zero);

    private DateTimeOffset Begin => new(Named.Certificate.NotBefore, TimeSpan.Zero);

    private TimeSpan Life => End - Begin;

    /// <summary>An operator wants it to be renewed.</summary>
    public void RenewFrom(DateTimeOffset now) => RenewAt = now;

    /// <summary>Another node has asked the authority, and chosen the moment for all.</summary>
    public void Follow(AcmeWindow window)
    {
        _window = window.Suggested;
        AskAt = window.AskAt;
        RenewAt = window.RenewAt;
    }

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

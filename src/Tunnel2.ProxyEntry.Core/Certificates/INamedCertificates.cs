namespace Tunnel2.ProxyEntry.Certificates;

/// <summary>Certificates that are chosen by the name that a visitor asks for. Thread-safe.</summary>
internal interface INamedCertificates
{
    /// <summary>The certificate for a name; null when there is none.</summary>
    /// <param name="name">The name in lower case, without a dot at its end.</param>
    ServerCertificate? Find(string name);

    /// <summary>What operators see: the certificates that end first, at most 50.</summary>
    IReadOnlyList<CertificateFacts> First { get; }

    /// <summary>How many there are.</summary>
    int Count { get; }

    /// <summary>How many could not be used, or could not be renewed, at the last look.</summary>
    int Refused { get; }

    /// <summary>The first of these, at most <see cref="CertificateRefusal.MostShown"/>.</summary>
    IReadOnlyList<CertificateRefusal> Refusals { get; }

    /// <summary>Where they come from, as <see cref="CertificateFacts.Origin"/> has it.</summary>
    string Origin { get; }
}

using System.Globalization;

namespace Tunnel2.TestUtilities;

/// <summary>
/// Random numbers that can be repeated: the seed comes from the environment variable TUNNEL2_TEST_SEED, or is drawn, and is in the
/// message of what fails inside <see cref="Run"/> or <see cref="RunAsync"/>. Not thread-safe, as <see cref="Random"/>.
/// </summary>
public sealed class SeededRandom : Random
{
    /// <summary>The environment variable that fixes the seed.</summary>
    public const string SeedVariable = "TUNNEL2_TEST_SEED";

    /// <param name="seed">The seed to use.</param>
    public SeededRandom(int seed)
        : base(seed)
    {
        Seed = seed;
    }

    /// <summary>The seed in use.</summary>
    public int Seed { get; }

    /// <summary>One with the seed of the environment, or a drawn one.</summary>
    /// <exception cref="FormatException">The environment's seed is no whole number.</exception>
    public static SeededRandom Create() =>
        new(Environment.GetEnvironmentVariable(SeedVariable) is { Length: > 0 } text
            ? int.Parse(text, CultureInfo.InvariantCulture)
            : Shared.Next());

    /// <summary>Runs <paramref name="test"/>; a failure names the seed.</summary>
    /// <exception cref="SeededRunFailedException">The test threw; its exception is the inner one.</exception>
    public static void Run(Action<SeededRandom> test)
    {
        var random = Create();
        try
        {
            test(random);
        }
        catch (Exception e)
        {
            throw new SeededRunFailedException(random.Seed, e);
        }
    }

    /// <summary>Runs <paramref name="test"/>; a failure names the seed.</summary>
    /// <exception cref="SeededRunFailedException">The test threw; its exception is the inner one.</exception>
    public static async Task RunAsync(Func<SeededRandom, Task> test)
    {
        var random = Create();
        try
        {
            await test(random).ConfigureAwait(false);
        }
        catch (Exception e)
        {
            throw new SeededRunFailedException(random.Seed, e);
        }
    }

    /// <summary>An array of <paramref name="length"/> random bytes.</summary>
    public byte[] NextBytes(int length)
    {
        var bytes = new byte[length];
        NextBytes(bytes);
        return bytes;
    }

    /// <summary>The seed in words, for the message of an assertion.</summary>
    public override string ToString() => $"{SeedVariable}={Seed}";
}
